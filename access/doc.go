// Package access decides who may do what. Like package admission it stands below every front end, so that
// all protocols share one set of tokens.
//
//	Control.Identify     the token of a request, or a *Refusal: unknown, expired, too many failures
//	Token.Allows         whether it may do something to a table
//
// A token is a secret of 130 random bits. The server keeps its SHA-256 sum alone. That suffices because nobody can
// try 2^130 secrets; a slow hash is for passwords, which people choose.
//
// The package opens no files: package main reads and replaces the token file.
package access

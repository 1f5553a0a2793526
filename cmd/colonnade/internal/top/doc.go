// Package top draws what a server does, from its metrics.
package top

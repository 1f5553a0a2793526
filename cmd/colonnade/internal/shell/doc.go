// Package shell runs commands that people type, or that a script has, a line each.
package shell

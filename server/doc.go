// Package server answers HTTP requests with JSON bodies from a widecol.Store.
// It knows the data model and nothing below it.
//
// The interface is described in docs/api.md. What its code promises:
//
//   - A request is read and checked as a whole before anything is asked of the
//     store, so a request that is refused has changed nothing.
//   - An answer is whole or broken off visibly: an error after the first bytes
//     of an answer went out ends the connection, never the JSON text.
//   - Memory is bounded. Bodies under way share Options.MaxInflight bytes. What
//     a large body is decoded into takes at most eight times its size; other
//     bodies are small. An answer is streamed through a buffer of flushSize
//     bytes and one chunk of the store; of long answers, so many may have some
//     more such buffers, see outgoing and division.
//   - What is too much is refused soon, before it is parsed, and the rest goes on
//     as if it had not come: requests work in turns, of which there are only so
//     many. See gates.
//   - Time is bounded. A client that stops sending or reading is cut off; see
//     timeouts.
//
// A request goes through one wrapper, ServeHTTP, which finds the route, calls
// its handler, turns the handler's error into an answer, and survives its
// panics. There is one file for each endpoint, and decoder is what they all
// read their input with.
package server

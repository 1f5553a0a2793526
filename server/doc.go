// Package server answers HTTP requests with JSON bodies from a widecol.Store.
// It knows the data model and nothing below it.
//
// docs/api.md describes the interface. The code keeps these promises:
//
//   - A request is read and checked as a whole before the store is asked to change anything, so a
//     refused request has changed nothing. Only a body of lines is written in parts (write_lines.go).
//   - A response is whole or visibly cut off: an error after its first bytes closes the connection,
//     and never looks like the end of the JSON text.
//   - Memory is bounded. Bodies under way share Options.Limits.Memory bytes. A decoded large body takes
//     at most eight times its size; other bodies are small, and a body of lines is decoded in parts. A response is streamed through a buffer
//     of flushSize bytes and one chunk of the store. A limited number of long responses have some
//     more such buffers (send_queue.go, parallel_scan.go).
//   - Overload is refused early, before the body is parsed. Package admission decides.
//   - Time is bounded. A client that stops sending or reading is disconnected; see Timeouts.
//
// ServeHTTP wraps each request: it finds the route, calls the handler, turns the handler's error into
// a response, and survives its panics. Each endpoint has a file. All handlers read their input with
// decoder.
package server

package tracing

import "strings"

// IDOf returns the id of the trace in the values of a request's traceparent (W3C Trace Context), or "" if these are not one
// that is as it should be.
func IDOf(traceparent []string) string {
	const idAt, idEnd, length = 3, 35, 55 // VERSION-TRACE-PARENT-FLAGS, in hexadecimal digits: 2, 32, 16, 2
	if len(traceparent) != 1 || len(traceparent[0]) < length || traceparent[0][idAt-1] != '-' || traceparent[0][idEnd] != '-' {
		return ""
	}
	id := traceparent[0][idAt:idEnd]
	if strings.Trim(id, "0123456789abcdef") != "" || strings.Trim(id, "0") == "" {
		return ""
	}
	return id
}

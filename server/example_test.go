package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/server"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// A Server is an http.Handler over any Store. Here the Store is in memory, and no connection is made.
func Example() {
	s := server.New(memstore.New(memstore.Options{}), server.Options{Now: time.Now, Clock: clock.System})
	call := func(method, path, body string) string {
		answer := httptest.NewRecorder()
		s.Handler().ServeHTTP(answer, httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body)))
		if answer.Code/100 != 2 {
			return fmt.Sprint(answer.Code, answer.Body)
		}
		return answer.Body.String()
	}
	call(http.MethodPut, "/v1/table/web", `{"column_families": [{"name": "title"}]}`)
	call(http.MethodPost, "/v1/table/web/write", `{"items": [{"row_key": "org.example/", "cells": [
		{"column_key": "title:", "type": "string", "value": "Example", "time": 1}]}]}`)
	rows, _, _ := strings.Cut(call(http.MethodPost, "/v1/table/web/scan", `{"row": {"prefix": "org."}}`), `,"row_count"`)
	fmt.Println(rows)
	// Output:
	// {"result":{"rows":[{"row_key":"org.example/","columns":{"title":{"":[{"time":1,"type":"string","value":"Example"}]}}}]
}

package kill9

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

const table = "/v1/table/kill9"

// api speaks to one life of the server. It is safe for concurrent use.
type api struct {
	url  string
	http *http.Client
}

func newAPI(url string, connections int) *api {
	return &api{url: url, http: &http.Client{
		// Long after every answer, so that it only ends what hangs.
		Timeout:   20 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: connections},
	}}
}

func (a *api) close() { a.http.CloseIdleConnections() }

// statusError is an answer that is no success.
type statusError struct {
	status int
	text   string
}

// lostError is a request without an answer, or with part of one.
type lostError struct{ cause error }

func (e *lostError) Error() string { return e.cause.Error() }

func (e *statusError) Error() string { return fmt.Sprintf("status %d: %s", e.status, e.text) }

func (a *api) do(ctx context.Context, method, path string, body, result any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, a.url+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return &lostError{err}
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return &lostError{err}
	}
	if resp.StatusCode/100 != 2 {
		return &statusError{resp.StatusCode, string(answer)}
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer, &struct{ Result any }{result})
}

type object = map[string]any

// create makes the table and its locality groups.
func (a *api) create(ctx context.Context) error {
	if err := a.do(ctx, http.MethodPut, table, object{}, nil); err != nil {
		return err
	}
	for _, g := range groups {
		family := object{"name": g, "gc_settings": object{"version_limit": 3}}
		body := object{"column_families": []any{family}, "locality_group": true}
		if err := a.do(ctx, http.MethodPost, table+"/column-family", body, nil); err != nil {
			return err
		}
	}
	return nil
}

// send sends an attempt.
func (a *api) send(ctx context.Context, t *attempt) error {
	if t.deletes {
		return a.do(ctx, http.MethodDelete, table+"/row", object{"row_key": t.rows[0]}, nil)
	}
	var items []any
	for _, key := range t.rows {
		var cells []any
		for _, g := range groups {
			cells = append(cells, object{"column_key": g + ":v", "type": "string", "value": value(key, t.version, g)})
		}
		items = append(items, object{"row_key": key, "cells": cells})
	}
	return a.do(ctx, http.MethodPost, table+"/write", object{"items": items}, nil)
}

// answerRows are the rows of a result: the value of each family's newest
// version.
type answerRows struct {
	Rows []struct {
		Key     string `json:"row_key"`
		Columns map[string]map[string][]struct {
			Value string `json:"value"`
		} `json:"columns"`
	} `json:"rows"`
}

func (r *answerRows) versions() (map[string]int64, error) {
	present := make(map[string]int64)
	for _, row := range r.Rows {
		values := make(map[string]string)
		for family, qualifiers := range row.Columns {
			for qualifier, versions := range qualifiers {
				if qualifier != "v" || len(versions) != 1 {
					return nil, fmt.Errorf("row %s has %d versions of %s:%s, asked was for one of %s:v", row.Key, len(versions), family, qualifier, family)
				}
				values[family] = versions[0].Value
			}
		}
		v, err := rowVersion(row.Key, values)
		if err != nil {
			return nil, err
		}
		if _, twice := present[row.Key]; twice {
			return nil, fmt.Errorf("row %s is there twice", row.Key)
		}
		present[row.Key] = v
	}
	return present, nil
}

var newestOnly = object{"cell_limit": 1}

// scan reads the newest version of the rows with a prefix.
func (a *api) scan(ctx context.Context, prefix string) (map[string]int64, error) {
	var r answerRows
	body := object{"row": object{"prefix": prefix}, "column": newestOnly}
	if err := a.do(ctx, http.MethodPost, table+"/scan", body, &r); err != nil {
		return nil, err
	}
	return r.versions()
}

// get reads the newest version of some rows.
func (a *api) get(ctx context.Context, keys ...string) (map[string]int64, error) {
	var items []any
	for _, key := range keys {
		items = append(items, object{"row": object{"key": key}, "column": newestOnly})
	}
	var r answerRows
	if err := a.do(ctx, http.MethodPost, table+"/rows", object{"items": items}, &r); err != nil {
		return nil, err
	}
	return r.versions()
}

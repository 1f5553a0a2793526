package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
)

// KeySpace is where in the row keys of a table the load was, over time. The counts are estimates, made of samples;
// docs/api.md has more on them (Key space).
type KeySpace struct {
	Ranges  []Range      // in order; together they are all row keys
	Windows []LoadWindow // in order, those with load
}

// LoadWindow is the load of a table in a time.
type LoadWindow struct {
	Start, End Time
	Loads      []RangeLoad // of the ranges that had any, in order
}

// RangeLoad is the load of a range of row keys.
type RangeLoad struct {
	Range        int   `json:"range"` // its place among KeySpace.Ranges
	RowsRead     int64 `json:"rows_read"`
	RowsWritten  int64 `json:"rows_written"`
	BytesRead    int64 `json:"bytes_read"`
	BytesWritten int64 `json:"bytes_written"`
}

// KeySpace returns the load of the table from one time up to another, as far as the server remembers it. The zero Time
// is no limit.
func (t *Table) KeySpace(ctx context.Context, start, end Time) (KeySpace, error) {
	path, times := t.path+"/keyspace", url.Values{}
	for name, time := range map[string]Time{"start": start, "end": end} {
		if !time.IsZero() {
			times.Set(name, strconv.FormatInt(time.Micros(), 10))
		}
	}
	if len(times) > 0 {
		path += "?" + times.Encode()
	}
	var result struct {
		Ranges  []struct{ Start, End keyText }
		Windows []struct {
			Start, End int64
			Loads      []RangeLoad
		}
	}
	if err := t.c.call(ctx, &request{class: read, method: http.MethodGet, path: path}, &result); err != nil {
		return KeySpace{}, err
	}
	var k KeySpace
	for _, r := range result.Ranges {
		k.Ranges = append(k.Ranges, Range{Start: string(r.Start), End: string(r.End)})
	}
	for _, w := range result.Windows {
		k.Windows = append(k.Windows, LoadWindow{Start: At(w.Start), End: At(w.End), Loads: w.Loads})
	}
	return k, nil
}

// keyText is a key in an answer: a string, or {"base64": "…"}.
type keyText string

func (k *keyText) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		return json.Unmarshal(b, (*string)(k))
	}
	var encoded struct{ Base64 string }
	if err := json.Unmarshal(b, &encoded); err != nil {
		return err
	}
	key, err := base64.StdEncoding.DecodeString(encoded.Base64)
	*k = keyText(key)
	return err
}

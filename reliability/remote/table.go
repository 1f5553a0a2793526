package remote

import (
	"context"
	"fmt"
	"net/http"
	"slices"
)

// Table is a table whose rows show whether they are whole: a row has one cell in each of three locality groups. All
// three have the version of the request that wrote it, with a checksum.
type Table struct {
	Client *Client
	Name   string
	Key    string // the idempotency key of Write and DeleteRow, empty for none
}

func (t Table) path(verb string) string { return "/v1/table/" + t.Name + verb }

// Create creates the table with one request, and keeps the given number of versions of a cell.
func (t Table) Create(ctx context.Context, versions int) error {
	families := ""
	for _, g := range groups {
		families += "," + family(g, versions)
	}
	body := fmt.Sprintf(`{"column_families":[%s],"locality_groups":[["ga"],["gb"],["gc"]]}`, families[1:])
	return t.Client.Do(ctx, http.MethodPut, t.path(""), []byte(body), nil)
}

// CreateByGroup creates the same table, step by step.
func (t Table) CreateByGroup(ctx context.Context, versions int) error {
	err := t.Client.Do(ctx, http.MethodPut, t.path(""), nil, nil)
	for _, g := range groups {
		if err != nil {
			return err
		}
		body := fmt.Sprintf(`{"column_families":[%s],"locality_group":true}`, family(g, versions))
		err = t.Client.Do(ctx, http.MethodPost, t.path("/column-family"), []byte(body), nil)
	}
	return err
}

func family(name string, versions int) string {
	return fmt.Sprintf(`{"name":%q,"gc_settings":{"version_limit":%d}}`, name, versions)
}

// Move moves one of the three families to a group of its own, or to the default partition. It moves on if it moves
// already.
func (t Table) Move(ctx context.Context, family int, own bool) error {
	body := `{"locality_group":null}`
	if own {
		body = `{"locality_group":"new"}`
	}
	path := t.path("/column-family/" + groups[family%len(groups)])
	err := t.Client.Do(ctx, http.MethodPatch, path, []byte(body), nil)
	if Says(err, "column_family_moves") {
		return nil
	}
	return err
}

// Drop drops the table.
func (t Table) Drop(ctx context.Context) error {
	return t.Client.Do(ctx, http.MethodDelete, t.path(""), nil, nil)
}

// Describe succeeds if the table exists.
func (t Table) Describe(ctx context.Context) error {
	return t.Client.Do(ctx, http.MethodGet, t.path(""), nil, nil)
}

// Write gives rows a version, in one request.
func (t Table) Write(ctx context.Context, version int64, keys ...string) error {
	body := []byte(`{"items":[`)
	for i, key := range keys {
		if i > 0 {
			body = append(body, ',')
		}
		body = fmt.Appendf(body, `{"row_key":%q,"cells":[`, key)
		for j, g := range groups {
			if j > 0 {
				body = append(body, ',')
			}
			body = fmt.Appendf(body, `{"column_key":"%s:v","type":"string","value":%q}`, g, value(key, version, g))
		}
		body = append(body, "]}"...)
	}
	return t.Client.send(ctx, t.Key, http.MethodPost, t.path("/write"), append(body, "]}"...), nil)
}

// DeleteRow deletes a row. It returns how many versions of cells it had.
func (t Table) DeleteRow(ctx context.Context, key string) (versions int64, err error) {
	var r struct {
		Deleted int64 `json:"deleted_cells_count"`
	}
	err = t.Client.send(ctx, t.Key, http.MethodDelete, t.path("/row"), fmt.Appendf(nil, `{"row_key":%q}`, key), &r)
	return r.Deleted, err
}

// Get returns the versions of the existing ones of some distinct rows. A torn row is an error.
func (t Table) Get(ctx context.Context, keys ...string) (map[string]int64, error) {
	body := []byte(`{"items":[`)
	for i, key := range keys {
		if i > 0 {
			body = append(body, ',')
		}
		body = fmt.Appendf(body, `{"row":{"key":%q},"column":{"cell_limit":1}}`, key)
	}
	var r answerRows
	if err := t.Client.Do(ctx, http.MethodPost, t.path("/rows"), append(body, "]}"...), &r); err != nil {
		return nil, err
	}
	present, err := r.versions()
	for key := range present {
		if !slices.Contains(keys, key) {
			return nil, fmt.Errorf("row %s is in the answer, asked was for %v", key, keys)
		}
	}
	return present, err
}

// Scan returns the versions of the rows with a prefix, as Get does.
func (t Table) Scan(ctx context.Context, prefix string) (map[string]int64, error) {
	var r answerRows
	body := fmt.Appendf(nil, `{"row":{"prefix":%q},"column":{"cell_limit":1}}`, prefix)
	if err := t.Client.Do(ctx, http.MethodPost, t.path("/scan"), body, &r); err != nil {
		return nil, err
	}
	return r.versions()
}

// Count returns how many rows with a prefix there are.
func (t Table) Count(ctx context.Context, prefix string) (rows int64, err error) {
	var r struct {
		Rows int64 `json:"row_count"`
	}
	err = t.Client.Do(ctx, http.MethodPost, t.path("/count"), fmt.Appendf(nil, `{"row":{"prefix":%q}}`, prefix), &r)
	return r.Rows, err
}

// answerRows are the rows of a result: the newest version of each cell.
type answerRows struct {
	Rows []struct {
		Key     string `json:"row_key"`
		Columns map[string]map[string][]struct {
			Value string `json:"value"`
		} `json:"columns"`
	} `json:"rows"`
}

// versions returns the versions of the rows. A torn row is an error.
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

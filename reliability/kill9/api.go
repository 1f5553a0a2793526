package kill9

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"colonnade/reliability/remote"
)

// api is what clients ask of one life of the server.
type api struct{ *remote.Client }

func path(table, verb string) string { return "/v1/table/" + table + verb }

// create makes the tables: one at once, the other step by step.
func (a api) create(ctx context.Context) error {
	families := ""
	for _, g := range groups {
		families += fmt.Sprintf(`,{"name":%q,"gc_settings":{"version_limit":3}}`, g)
	}
	atOnce := fmt.Sprintf(`{"column_families":[%s],"locality_groups":[["ga"],["gb"],["gc"]]}`, families[1:])
	if err := a.Do(ctx, http.MethodPut, path(tables[0], ""), []byte(atOnce), nil); err != nil {
		return err
	}
	if err := a.Do(ctx, http.MethodPut, path(tables[1], ""), nil, nil); err != nil {
		return err
	}
	for _, g := range groups {
		body := fmt.Sprintf(`{"column_families":[{"name":%q,"gc_settings":{"version_limit":3}}],"locality_group":true}`, g)
		if err := a.Do(ctx, http.MethodPost, path(tables[1], "/column-family"), []byte(body), nil); err != nil {
			return err
		}
	}
	return nil
}

// send sends an attempt.
func (a api) send(ctx context.Context, table string, t *attempt) error {
	if t.deletes {
		return a.Do(ctx, http.MethodDelete, path(table, "/row"), fmt.Appendf(nil, `{"row_key":%q}`, t.rows[0]), nil)
	}
	body := []byte(`{"items":[`)
	for i, key := range t.rows {
		if i > 0 {
			body = append(body, ',')
		}
		body = fmt.Appendf(body, `{"row_key":%q,"cells":[`, key)
		for j, g := range groups {
			if j > 0 {
				body = append(body, ',')
			}
			body = fmt.Appendf(body, `{"column_key":"%s:v","type":"string","value":%q}`, g, value(key, t.version, g))
		}
		body = append(body, "]}"...)
	}
	return a.Do(ctx, http.MethodPost, path(table, "/write"), append(body, "]}"...), nil)
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

// versions returns the versions of the rows, which have to be whole and of that
// table.
func (r *answerRows) versions(table string) (map[string]int64, error) {
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
		if client, ok := owner(row.Key); !ok || tableOf(client) != table {
			return nil, fmt.Errorf("row %s is in table %s, where nobody wrote it", row.Key, table)
		}
		present[row.Key] = v
	}
	return present, nil
}

// scan reads the newest version of the rows with a prefix.
func (a api) scan(ctx context.Context, table, prefix string) (map[string]int64, error) {
	var r answerRows
	body := fmt.Appendf(nil, `{"row":{"prefix":%q},"column":{"cell_limit":1}}`, prefix)
	if err := a.Do(ctx, http.MethodPost, path(table, "/scan"), body, &r); err != nil {
		return nil, err
	}
	return r.versions(table)
}

// scanAll reads the newest version of all rows of all tables.
func (a api) scanAll(ctx context.Context) (map[string]int64, error) {
	all := make(map[string]int64)
	for _, table := range tables {
		present, err := a.scan(ctx, table, "")
		if err != nil {
			return nil, fmt.Errorf("scan %s: %w", table, err)
		}
		for key, version := range present {
			all[key] = version
		}
	}
	return all, nil
}

type rowRequest struct {
	Row    map[string]string `json:"row"`
	Column map[string]int    `json:"column"`
}

// get reads the newest version of some rows of a table.
func (a api) get(ctx context.Context, table string, keys ...string) (map[string]int64, error) {
	var request struct {
		Items []rowRequest `json:"items"`
	}
	for _, key := range keys {
		request.Items = append(request.Items, rowRequest{map[string]string{"key": key}, map[string]int{"cell_limit": 1}})
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	var r answerRows
	if err := a.Do(ctx, http.MethodPost, path(table, "/rows"), body, &r); err != nil {
		return nil, err
	}
	return r.versions(table)
}

package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Counter is what the row of a counter has: the same value in each locality group, a number or a text.
type Counter struct {
	There bool // the row is there
	Text  bool
	Value int64
}

// counterColumn is the qualifier of a counter, coveredColumn one that a counter never has.
const (
	counterColumn = "n"
	coveredColumn = "covered"
)

// SetNumber replaces the row of a counter by a number. The request sets another column first, which the deletion of
// the row has to take away again.
func (t Table) SetNumber(ctx context.Context, key string, value int64) error {
	body := fmt.Sprintf(`{"items":[{"row_key":%q,"mutations":[%s]}]}`, key, setNumber(value))
	return t.Client.send(ctx, t.Key, http.MethodPost, t.path("/mutate"), []byte(body), nil)
}

// CreateNumber is SetNumber if the row is not there.
func (t Table) CreateNumber(ctx context.Context, key string, value int64) (done bool, err error) {
	return t.checkAndMutate(ctx, key, `"if":{"exists":false},"then":[`+setNumber(value)+`]`)
}

// Clear deletes the row of a counter if it is there.
func (t Table) Clear(ctx context.Context, key string) (done bool, err error) {
	return t.checkAndMutate(ctx, key, `"if":{"exists":true},"then":[{"delete_row":true}]`)
}

// Turn makes a counter a text if it is there, otherwise a number. It returns whether it was.
func (t Table) Turn(ctx context.Context, key string, value int64) (was bool, err error) {
	return t.checkAndMutate(ctx, key, `"if":{"exists":true},"else":[`+setNumber(value)+`],"then":[`+set("string", strconv.Quote(fmt.Sprint(value)))+`]`)
}

func (t Table) checkAndMutate(ctx context.Context, key, rest string) (matched bool, err error) {
	var r struct{ Matched bool }
	body := fmt.Appendf(nil, `{"row_key":%q,%s}`, key, rest)
	err = t.Client.send(ctx, t.Key, http.MethodPost, t.path("/check-and-mutate"), body, &r)
	return r.Matched, err
}

// setNumber returns the mutations of SetNumber.
func setNumber(value int64) string {
	covered := fmt.Sprintf(`{"set":{"column_key":"%s:%s","type":"i64","value":%d}},{"delete_row":true},`, groups[0], coveredColumn, value)
	return covered + set("i64", fmt.Sprint(value))
}

// set returns mutations that set all columns of a counter.
func set(kind, value string) string {
	var list []string
	for _, g := range groups {
		list = append(list, fmt.Sprintf(`{"set":{"column_key":"%s:%s","type":%q,"value":%s}}`, g, counterColumn, kind, value))
	}
	return strings.Join(list, ",")
}

// Increment adds to a counter and returns the sum. A text has the error not_a_number.
func (t Table) Increment(ctx context.Context, key string, by int64) (sum int64, err error) {
	var rules []string
	for _, g := range groups {
		rules = append(rules, fmt.Sprintf(`{"column_key":"%s:%s","increment":%d}`, g, counterColumn, by))
	}
	body := fmt.Appendf(nil, `{"row_key":%q,"rules":[%s]}`, key, strings.Join(rules, ","))
	var r struct{ Row counterRow }
	if err := t.Client.send(ctx, t.Key, http.MethodPost, t.path("/read-modify-write"), body, &r); err != nil {
		return 0, err
	}
	c, err := r.Row.counter()
	if err == nil && c.Text {
		err = fmt.Errorf("counter %s was incremented to the text %d", key, c.Value)
	}
	return c.Value, err
}

// Counter reads a counter.
func (t Table) Counter(ctx context.Context, key string) (Counter, error) {
	var r struct{ Rows []counterRow }
	body := fmt.Appendf(nil, `{"items":[{"row":{"key":%q},"column":{"cell_limit":1}}]}`, key)
	if err := t.Client.Do(ctx, http.MethodPost, t.path("/rows"), body, &r); err != nil || len(r.Rows) == 0 {
		return Counter{}, err
	}
	return r.Rows[0].counter()
}

// counterRow is the row of a counter in a result.
type counterRow struct {
	Key     string `json:"row_key"`
	Columns map[string]map[string][]struct {
		Type  string
		Value json.RawMessage
	}
}

// counter returns the counter, or an error if its groups differ.
func (r *counterRow) counter() (c Counter, err error) {
	for i, g := range groups {
		versions := r.Columns[g][counterColumn]
		if len(r.Columns) != len(groups) || len(r.Columns[g]) != 1 || len(versions) != 1 {
			return c, fmt.Errorf("torn: counter %s has the columns %v, want one version of %s in each of %v", r.Key, r.Columns, counterColumn, groups)
		}
		v := Counter{There: true, Text: versions[0].Type == "string"}
		if v.Value, err = strconv.ParseInt(strings.Trim(string(versions[0].Value), `"`), 10, 64); err != nil {
			return c, fmt.Errorf("counter %s: %w", r.Key, err)
		}
		if i > 0 && v != c {
			return c, fmt.Errorf("torn: counter %s has %+v in one group and %+v in another", r.Key, c, v)
		}
		c = v
	}
	return c, nil
}

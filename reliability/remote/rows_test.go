package remote

import "testing"

func TestRowVersion(t *testing.T) {
	whole := func(version int64) map[string]string {
		values := make(map[string]string)
		for _, g := range groups {
			values[g] = value("a", version, g)
		}
		return values
	}
	if v, err := rowVersion("a", whole(7)); v != 7 || err != nil {
		t.Errorf("a good row has version %d, %v, want 7", v, err)
	}
	mixed, short, foreign, more := whole(7), whole(7), whole(7), whole(7)
	mixed["gb"] = value("a", 8, "gb")
	delete(short, "gc")
	foreign["ga"] = value("a", 7, "gb")
	more["gd"] = "7"
	for name, values := range map[string]map[string]string{"mixed": mixed, "short": short, "foreign": foreign, "more": more, "of another row": {"ga": value("b", 7, "ga")}} {
		if _, err := rowVersion("a", values); err == nil {
			t.Errorf("a row that is %s was taken for good", name)
		}
	}
}

package jsontext

import (
	"encoding/json"
	"testing"
)

// TestAppendString: every character of one byte is read as it was.
func TestAppendString(t *testing.T) {
	var all []byte
	for c := range 0x80 {
		all = append(all, byte(c))
	}
	for _, text := range []string{"", "plain", string(all), `"`, "größe \u2028"} {
		var got string
		if err := json.Unmarshal(AppendString(nil, text), &got); err != nil || got != text {
			t.Errorf("%q becomes %q, %v", text, got, err)
		}
		if from := AppendString([]byte("x"), []byte(text)); string(from) != "x"+string(AppendString(nil, text)) {
			t.Errorf("%q as bytes becomes %q", text, from)
		}
	}
}

package verbs

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/colonnade-db/colonnade/client"
)

const valueHelp = `A value is a string, unless it begins with a type: i64:5, i32:5, byte:5, f64:1.5, f32:1.5,
boolean:true, bytes:AP8= (base64), hex:00ff. string: before it makes anything a string.`

// parsers make a value of what is behind a type and a colon.
var parsers = map[string]func(string) (client.Value, error){
	"string": func(s string) (client.Value, error) { return client.String(s), nil },
	"i64": func(s string) (client.Value, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		return client.I64(n), err
	},
	"i32": func(s string) (client.Value, error) {
		n, err := strconv.ParseInt(s, 10, 32)
		return client.I32(int32(n)), err
	},
	"byte": func(s string) (client.Value, error) {
		n, err := strconv.ParseUint(s, 10, 8)
		return client.Byte(byte(n)), err
	},
	"f64": func(s string) (client.Value, error) {
		f, err := strconv.ParseFloat(s, 64)
		return client.F64(f), err
	},
	"f32": func(s string) (client.Value, error) {
		f, err := strconv.ParseFloat(s, 32)
		return client.F32(float32(f)), err
	},
	"boolean": func(s string) (client.Value, error) {
		b, err := strconv.ParseBool(s)
		return client.Bool(b), err
	},
	"bytes": func(s string) (client.Value, error) {
		b, err := base64.StdEncoding.DecodeString(s)
		return client.Bytes(b), err
	},
	"hex": func(s string) (client.Value, error) {
		b, err := hex.DecodeString(s)
		return client.Bytes(b), err
	},
}

// ParseValue returns the value that people write as a literal.
func ParseValue(text string) (client.Value, error) {
	name, rest, found := strings.Cut(text, ":")
	parse, known := parsers[name]
	if !found || !known {
		return client.String(text), nil
	}
	v, err := parse(rest)
	if err != nil {
		return v, usagef("%s is no %s; string: before it makes it a string", text, name)
	}
	return v, nil
}

// Literal returns a value as ParseValue takes it. Of strings, what is not printable is escaped, to be looked at.
func Literal(v client.Value) string {
	if v.IsNull() {
		return v.Type().String() + ":?"
	}
	if text, ok := v.Text(); ok {
		name, _, found := strings.Cut(text, ":")
		if _, known := parsers[name]; found && known {
			text = "string:" + text
		}
		return printable(text)
	}
	return v.Type().String() + ":" + v.String()
}

// parseTime returns the time that people write, as of now: microseconds since 1970, RFC 3339, a day, or how long ago it
// is. "" is none.
func parseTime(flag, text string, now time.Time) (client.Time, error) {
	if text == "" {
		return client.Time{}, nil
	}
	if micros, err := strconv.ParseInt(text, 10, 64); err == nil && micros >= 0 {
		return client.At(micros), nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return client.At(at.UnixMicro()), nil
		}
	}
	if ago, err := parseDuration(text); err == nil {
		return client.At(now.Add(-ago).UnixMicro()), nil
	}
	return client.Time{}, usagef("--%s %s is no time: microseconds since 1970, 2026-11-29, 2026-11-29T12:00:00Z, or 90m for so long ago", flag, text)
}

// parseDuration is time.ParseDuration with days.
func parseDuration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

func timeText(t client.Time) string { return t.Time().Format("2006-01-02T15:04:05.000000Z") }

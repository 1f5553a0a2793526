package strictjson

import (
	"errors"
	"strings"
	"testing"
)

// The three lists follow the cases of JSONTestSuite: what every parser must
// accept, must refuse, and may decide. Decided here: refuse all 35 of the
// third, and of the first the two texts with a duplicate key.

var accepted = []string{
	// arrays
	`[[]   ]`, `[""]`, `[]`, `["a"]`, `[false]`, `[null, 1, "1", {}]`, `[null]`, "[1\n]", ` [1]`,
	`[1,null,null,null,2]`, `[2] `,
	// numbers
	`[0e+1]`, `[0e1]`, `[ 4]`,
	`[-0.000000000000000000000000000000000000000000000000000000000000000000000000000001]`,
	`[20e1]`, `[123e65]`, `[-0]`, `[-123]`, `[-1]`, `[-0]`, `[1E22]`, `[1E-2]`, `[1E+2]`, `[123e45]`,
	`[123.456e78]`, `[1e-2]`, `[1e+2]`, `[123]`, `[123.456789]`,
	// objects
	`{"asd":"sdf", "dfg":"fgh"}`, `{}`, `{"":0}`, `{"foo\u0000bar": 42}`,
	`{ "min": -1.0e+28, "max": 1.0e+28 }`,
	`{"x":[{"id": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}], "id": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}`,
	`{"asd":"sdf"}`, `{"a":[]}`,
	`{"title":"\u041f\u043e\u043b\u0442\u043e\u0440\u0430 \u0417\u0435\u043c\u043b\u0435\u043a\u043e\u043f\u0430" }`,
	"{\n\"a\": \"b\"\n}",
	// strings
	`["\u0060\u012a\u12AB"]`, `["\uD801\udc37"]`, `["\ud83d\ude39\ud83d\udc8d"]`, `["\"\\\/\b\f\n\r\t"]`,
	`["\\u0000"]`, `["\""]`, `["a/*b*/c/*d//e"]`, `["\\a"]`, `["\\n"]`, `["\u0012"]`, `["\uFFFF"]`,
	`["asd"]`, `[ "asd"]`, `["\uDBFF\uDFFF"]`, `["new\u00A0line"]`, "[\"\U0010FFFF\"]", "[\"\uFFFF\"]",
	`["\u0000"]`, `["\u002c"]`, `["π"]`, "[\"\U0001BFFF\"]", `["asd "]`, `" "`, `["\uD834\uDd1e"]`,
	`["\u0821"]`, `["\u0123"]`, "[\"\u2028\"]", "[\"\u2029\"]", `["\u0061\u30af\u30EA\u30b9"]`,
	`["new\u000Aline"]`, "[\"\x7f\"]", `["\uA66D"]`, `["⍂㈴⍂"]`, `["\uDBFF\uDFFE"]`, `["\uD83F\uDFFE"]`,
	`["\u200B"]`, `["\u2064"]`, `["\uFDD0"]`, `["\uFFFE"]`, `["\u005C"]`, `["\u0022"]`, `["€𝄞"]`, "[\"a\x7fa\"]",
	// one value alone, and white space
	`false`, `42`, `-0.1`, `null`, `"asd"`, `true`, `""`, "[\"a\"]\n", `[true]`, " [] ",
}

var duplicates = []string{`{"a":"b","a":"c"}`, `{"a":"b","a":"b"}`}

var refused = []string{
	// arrays
	`[1 true]`, "[a\xe5]", `["": 1]`, `[""],`, `[,1]`, `[1,,2]`, `["x",,]`, `["x"]]`, `["",]`, `["x"`, `[x`,
	`[3[4]]`, "[\xff]", `[1:2]`, `[,]`, `[-]`, `[   , ""]`, "[\"a\",\n4\n,1,", `[1,]`, `[1,,]`, "[\"\va\"\\f]",
	`[*]`, `[""`, `[1,`, "[1,\n1\n,1", `[{}`,
	// words cut short
	`[fals]`, `[nul]`, `[tru]`,
	// numbers
	"123\x00", `[++1234]`, `[+1]`, `[+Inf]`, `[-01]`, `[-1.0.]`, `[-2.]`, `[-NaN]`, `[.-1]`, `[.2e-3]`, `[0.1.2]`,
	`[0.3e+]`, `[0.3e]`, `[0.e1]`, `[0E+]`, `[0E]`, `[0e+]`, `[0e]`, `[1.0e+]`, `[1.0e-]`, `[1.0e]`, `[1 000.0]`,
	`[1eE2]`, `[2.e+3]`, `[2.e-3]`, `[2.e3]`, `[9.e+]`, `[1+2]`, `[0x1]`, `[0x42]`, `[Inf]`, `[Infinity]`, `[0e+-1]`,
	`[-123.123foo]`, "[123\xe5]", "[1e1\xe5]", "[0\xe5]\n", `[-Infinity]`, `[-foo]`, `[- 1]`, `[NaN]`, `[-012]`,
	`[-.123]`, `[-1x]`, `[1ea]`, "[1e\xe5]", `[1.]`, `[.123]`, `[１]`, `[1.2a-3]`, `[1.8011670033376514H-308]`, `[012]`,
	// objects
	`["x", truth]`, `{[: "x"}`, `{"x", null}`, `{"x"::"b"}`, `{🇨🇭}`, `{"a":"a" 123}`, `{key: 'value'}`,
	"{\"\xb9\":\"0\",}", `{"a" b}`, `{:"b"}`, `{"a" "b"}`, `{"a":`, `{"a"`, `{1:1}`, `{9999E9999:1}`,
	`{null:null,null:null}`, `{"id":0,,,,,}`, `{'a':0}`, `{"id":0,}`, `{"a":"b"}/**/`, `{"a":"b"}/**//`,
	`{"a":"b"}//`, `{"a":"b"}/`, `{"a":"b",,"c":"d"}`, `{a: "b"}`, `{"a":"a`, `{ "foo" : "bar", "a" }`, `{"a":"b"}#`,
	// strings
	` `, `["\uD800\"]`, `["\uD800\u"]`, `["\uD800\u1"]`, `["\uD800\u1x"]`, `[é]`, "[\"\\\x00\"]", `["\x00"]`,
	`["\\\"]`, "[\"\\\t\"]", `["\🌀"]`, `["\"]`, `["\u00A"]`, `["\uD834\uDd"]`, `["\uD800\uD800\x"]`, "[\"\\u\xe5\"]",
	`["\a"]`, `["\uqqqq"]`, "[\"\\\xe5\"]", `[\u0020"asd"]`, `[\n]`, `"`, `['single quote']`, `abc`, `["\`,
	"[\"a\x00a\"]", "[\"new\nline\"]", "[\"\t\"]", `"\UA66D"`, `""x`,
	// structure
	strings.Repeat("[", 100_000), `<.>`, `[<null>]`, `[1]x`, `[1]]`, `["asd]`, `aå`, `[True]`, `1]`, `{"x": true,`, `[][]`,
	`]`, "\xef\xbb{}", "\xe5", `[`, ``, "[\x00]", `2@`, `{}}`, `{"":`, `{"a":/*comment*/"b"}`, `{"a": true} "x"`, `['`, `[,`,
	strings.Repeat(`[{"":`, 50_000), `[{`, `["a`, `["a"`, `{`, `{]`, `{,`, `{[`, `{"a`, `{'a'`, `["\{["\{["\{["\{`, "\xe9",
	`*`, `{"a":"b"}#{}`, "[\u2060]", `[\u000A""]`, `[1`, `[ false, nul`, `[ true, fals`, `[ false, tru`, `{"asd":"asd"`,
	`å`, "\xef\xbb\xbf", "[\x0c]", "[\u2060]",
}

var decidedAgainst = []string{
	// numbers that nothing holds
	`[123.456e-789]`, `[0.4e006699999999999999999999999999999999999999999999999999999999999999999999999999999999999999]`,
	`[-1e+9999]`, `[1.5e+9999]`, `[-123123e100000]`, `[123123e100000]`, `[123e-10000000]`,
	`[-123123123123123123123123123123]`, `[100000000000000000001]`,
	`[-237462374673276894279832749832423479823246327846]`,
	// halves of surrogate pairs
	`{"\uDFAA":0}`, `["\uDADA"]`, `["\uD888\u1234"]`, `["\uD800\n"]`, `["\uDd1ea"]`, `["\uD800\uD800\n"]`, `["\ud800"]`,
	`["\ud800abc"]`, "[\"\xff\"]", `["\uDd1e\uD834"]`, "[\"\xe9\"]", `["\uDFAA"]`,
	// bytes that are not UTF-8
	"[\"\x81\"]", "[\"\xf4\xbf\xbf\xbf\"]", "[\"\xc0\xaf\"]", "[\"\xfc\x83\xbf\xbf\xbf\xbf\"]",
	"[\"\xfc\x80\x80\x80\x80\x80\"]", "[\"\xe0\xff\"]", "\x00[\x00\"\x00\xe9\x00\"\x00]", "[\x00\"\x00\xe9\x00\"\x00]\x00",
	"\xff\xfe[\x00\"\x00\xe9\x00\"\x00]\x00", "[\"\xe6\x97\xa5\xd1\x88\xfa\"]", "[\"\xed\xa0\x80\"]",
	// structure
	strings.Repeat("[", 500) + strings.Repeat("]", 500), "\xef\xbb\xbf{}",
}

func TestSuiteIsWhole(t *testing.T) {
	if got := len(accepted) + len(duplicates); got != 95 {
		t.Errorf("got %d texts to accept, want 95", got)
	}
	if got := len(refused); got != 188 {
		t.Errorf("got %d texts to refuse, want 188", got)
	}
	if got := len(decidedAgainst); got != 35 {
		t.Errorf("got %d texts to decide on, want 35", got)
	}
}

func TestSuite(t *testing.T) {
	for _, text := range accepted {
		if err := Check([]byte(text)); err != nil {
			t.Errorf("%.60q: got %v, want it accepted", text, err)
		}
	}
	for _, text := range append(refused, decidedAgainst...) {
		if err := Check([]byte(text)); err == nil {
			t.Errorf("%.60q: got it accepted, want an error", text)
		}
	}
	for _, text := range duplicates {
		checkRefused(t, text, DuplicateField, "a")
	}
}

func TestRefusals(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)
	if err := Check([]byte(deep)); err != nil {
		t.Errorf("depth %d: got %v, want it accepted", MaxDepth, err)
	}
	checkRefused(t, "["+deep+"]", TooDeep, strings.Repeat("[0]", MaxDepth))
	checkRefused(t, strings.Repeat(`{"a":`, MaxDepth+1), TooDeep, "a"+strings.Repeat(".a", MaxDepth-1))
	checkRefused(t, strings.Repeat("[", 1_000_000), TooDeep, strings.Repeat("[0]", MaxDepth))

	checkRefused(t, `{"row":1,"r\u006fw":2}`, DuplicateField, "row")
	checkRefused(t, `{"a":{"x":1},"b":[{"x":1},{"x":1,"\u0078":2}]}`, DuplicateField, "b[1].x")
	checkRefused(t, fields(MaxFields+1), TooManyFields, "f64")
	if err := Check([]byte(fields(MaxFields))); err != nil {
		t.Errorf("%d fields: got %v, want them accepted", MaxFields, err)
	}
	if err := Check([]byte(`{"row":1,"ROW":2,"a":{"row":1},"\u0000":1,"\u0000\u0000":2}`)); err != nil {
		t.Errorf("different keys: got %v, want them accepted", err)
	}

	checkRefused(t, `{} {}`, InvalidJSON, "")
	checkRefused(t, "{}\x00", InvalidJSON, "")
	checkRefused(t, `{"a":[1,2,"b`, InvalidJSON, "a[2]")
	checkRefused(t, `{"a":[1,{"b":"\ud800"}]}`, InvalidUTF8, "a[1].b")
	checkRefused(t, "{\"a\":1,\"\xc3\":2}", InvalidUTF8, "")
	checkRefused(t, `{"a":1,b:2}`, InvalidJSON, "")
	checkRefused(t, "[\"\xe2\x82\"]", InvalidUTF8, "[0]")
}

func TestNumberRange(t *testing.T) {
	for _, text := range []string{
		"9223372036854775807", "-9223372036854775808", "9007199254740993", "9223372036854776000",
		"9223372036854775808", "100000000000000000000", "1e308", "5e-324", "0e999", "-0.0e-999", "1.7976931348623157e+308",
		strings.Repeat("1", 1) + "." + strings.Repeat("3", MaxNumber-2),
	} {
		if err := Check([]byte(text)); err != nil {
			t.Errorf("%s: got %v, want it accepted", text, err)
		}
	}
	for _, text := range []string{
		"9223372036854775809", "-9223372036854775809", "18446744073709551615", "1e309", "-1e400", "1e-400",
		"1" + strings.Repeat("0", 400), strings.Repeat("7", 100_000), "0." + strings.Repeat("3", MaxNumber-1), "1e" + strings.Repeat("9", 1000),
	} {
		checkRefused(t, text, NumberOutOfRange, "")
	}
}

func fields(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,"f` + string(rune('0'+i/10)) + string(rune('0'+i%10)) + `":1`)
	}
	return "{" + b.String()[1:] + "}"
}

func checkRefused(t *testing.T, text, code, at string) {
	t.Helper()
	var e *Error
	if err := Check([]byte(text)); !errors.As(err, &e) {
		t.Errorf("%.60q: got %v, want an error with code %s", text, err, code)
	} else if e.Code != code || e.At != at {
		t.Errorf("%.60q: got code %s at %q, want %s at %q", text, e.Code, e.At, code, at)
	}
}

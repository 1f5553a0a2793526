// Package jsonsuite has the texts of JSONTestSuite, by which parsers of JSON are
// compared: 95 that have to be accepted, 188 that must not be, and 35 on which
// RFC 8259 leaves the decision to the parser. Tests read them.
package jsonsuite

import "strings"

// Accepted are the texts that every parser has to accept.
var Accepted = []string{
	// arrays
	`[[]   ]`, `[""]`, `[]`, `["a"]`, `[false]`, `[null, 1, "1", {}]`, `[null]`, "[1\n]", ` [1]`,
	`[1,null,null,null,2]`, `[2] `,
	// numbers
	`[0e+1]`, `[0e1]`, `[ 4]`,
	"[-0.000000000000000000000000000000000000000000000000000000000000000000000000000001]\n",
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
	// the same name twice
	`{"a":"b","a":"c"}`, `{"a":"b","a":"b"}`,
}

// Refused are the texts that no parser may accept.
var Refused = []string{
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
	`["x", truth]`, "{[: \"x\"}\n", `{"x", null}`, `{"x"::"b"}`, `{🇨🇭}`, `{"a":"a" 123}`, `{key: 'value'}`,
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
	strings.Repeat(`[{"":`, 50_000) + "\n", `[{`, `["a`, `["a"`, `{`, `{]`, `{,`, `{[`, `{"a`, `{'a'`, `["\{["\{["\{["\{`, "\xe9",
	`*`, `{"a":"b"}#{}`, "[\u2060]", `[\u000A""]`, `[1`, `[ false, nul`, `[ true, fals`, `[ false, tru`, `{"asd":"asd"`,
	`å`, "\xef\xbb\xbf", "[\x0c]", "[\u2060]",
}

// Undecided are the texts that a parser may accept or refuse.
var Undecided = []string{
	// numbers that nothing holds
	`[123.456e-789]`, `[0.4e00669999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999969999999006]`,
	`[-1e+9999]`, `[1.5e+9999]`, `[-123123e100000]`, `[123123e100000]`, `[123e-10000000]`,
	`[-123123123123123123123123123123]`, `[100000000000000000000]`,
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

package strictjson

import (
	"fmt"
	"testing"
)

func BenchmarkCheck(b *testing.B) {
	text := []byte(`{"items":[`)
	for i := range 1000 {
		text = fmt.Appendf(text, `{"column_key":"contents:q%04d","type":"string","value":"some text of moderate length %08d"},`, i%10, i)
	}
	text = append(text[:len(text)-1], `]}`...)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	var r Reader
	for b.Loop() {
		r.Reset(text)
		r.Skip()
		r.End()
		if r.Err() != nil {
			b.Fatal(r.Err())
		}
	}
}

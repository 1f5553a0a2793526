package sstable

import (
	"bytes"
	"encoding/binary"
	"testing"
)

func filterOf(rows, bits int) *Filter {
	f := newFilter(rows, bits)
	for i := range rows {
		f.add(HashRow(benchRow(i)))
	}
	return f
}

func TestFilterRates(t *testing.T) {
	for _, test := range []struct {
		rows, bits int
		percent    float64 // of false positives, at most
	}{
		{1, 10, 5}, {100, 10, 5}, {20_000, 10, 1.6}, {20_000, 5, 12}, {20_000, 16, 0.35}, {20_000, 1, 70},
	} {
		f := filterOf(test.rows, test.bits)
		var opened Filter
		if err := opened.parse(f.append(nil)); err != nil {
			t.Fatal(err)
		}
		for i := range test.rows {
			if !opened.MayContain(HashRow(benchRow(i))) {
				t.Fatalf("%d rows of %d bits: row %d is missing", test.rows, test.bits, i)
			}
		}
		wrong := 0
		const asked = 50_000
		for i := range asked {
			if opened.MayContain(HashRow(benchRow(1_000_000 + i))) {
				wrong++
			}
		}
		if got := 100 * float64(wrong) / asked; got > test.percent {
			t.Errorf("%d rows of %d bits: %.2f %% false answers, want %.2f at most", test.rows, test.bits, got, test.percent)
		}
	}
}

func TestFilterParse(t *testing.T) {
	good := filterOf(100, 10).append(nil)
	for name, damage := range map[string]func(p []byte) []byte{
		"empty":        func(p []byte) []byte { return nil },
		"header only":  func(p []byte) []byte { return p[:filterHeaderSize] },
		"short":        func(p []byte) []byte { return p[:len(p)-1] },
		"long":         func(p []byte) []byte { return append(p, 0) },
		"no probes":    func(p []byte) []byte { p[1] = 0; return p },
		"many probes":  func(p []byte) []byte { p[1] = maxProbes + 1; return p },
		"no lines":     func(p []byte) []byte { clear(p[4:8]); return p[:filterHeaderSize] },
		"reserved":     func(p []byte) []byte { p[3] = 1; return p },
		"all the rows": func(p []byte) []byte { binary.LittleEndian.PutUint32(p[4:], 1<<31); return p },
	} {
		var f Filter
		if err := f.parse(damage(bytes.Clone(good))); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// mayContain asks the filter of a file.
func mayContain(r *Reader, row []byte) (bool, error) {
	f, err := r.Filter()
	if err != nil {
		return false, err
	}
	return f.MayContain(HashRow(row)), nil
}

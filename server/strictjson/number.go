package strictjson

import (
	"bytes"
	"strconv"
)

// scanNumber returns the index after the number that starts at i.
func (r *Reader) scanNumber(i int) int {
	start := i
	if r.data[i] == '-' {
		i++
	}
	first := i
	i = r.digits(i)
	switch {
	case i == first:
		r.syntax(i, "a digit")
		return 0
	case r.data[first] == '0' && i > first+1:
		r.syntax(first+1, "no digit after a leading zero")
		return 0
	}
	if i == len(r.data) || r.data[i] != '.' && r.data[i]|0x20 != 'e' {
		if i-first > 18 {
			r.checkRange(start, i)
		}
		return i
	}
	exponent := 0 // its digits
	if r.data[i] == '.' {
		fraction := i + 1
		if i = r.digits(fraction); i == fraction {
			r.syntax(i, "a digit")
			return 0
		}
	}
	if i < len(r.data) && r.data[i]|0x20 == 'e' {
		i++
		if i < len(r.data) && (r.data[i] == '+' || r.data[i] == '-') {
			i++
		}
		digit := i
		if i = r.digits(digit); i == digit {
			r.syntax(i, "a digit")
			return 0
		}
		exponent = i - digit
	}
	// With an exponent below 100, MaxNumber bytes are far from the limits of a float64.
	if exponent > 2 || i-start > MaxNumber {
		r.checkRange(start, i)
	}
	return i
}

// digits returns the index after the digits that start at i.
func (r *Reader) digits(i int) int {
	for i < len(r.data) && r.data[i]-'0' <= 9 {
		i++
	}
	return i
}

// checkRange refuses a number that nothing can hold.
func (r *Reader) checkRange(start, end int) {
	if end-start > MaxNumber {
		r.fail(start, NumberOutOfRange, "number of %d bytes at byte %d, allowed are %d", end-start, start, MaxNumber)
		return
	}
	raw := r.data[start:end]
	if _, ok := Int64(raw); ok {
		return
	}
	if _, ok := Float64(raw); !ok {
		r.fail(start, NumberOutOfRange, "number %s at byte %d is out of range", raw, start)
	}
}

// Int64 returns the integer of a number. It returns false if the number has a fraction or an exponent
// (1.0 and 1e3 are no integers here) or does not fit.
func Int64(raw []byte) (int64, bool) {
	digits, negative := raw, false
	if len(raw) > 0 && raw[0] == '-' {
		digits, negative = raw[1:], true
	}
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	var n uint64 // 19 digits fit
	for _, d := range digits {
		if d -= '0'; d > 9 {
			return 0, false
		}
		n = n*10 + uint64(d)
	}
	if negative {
		return -int64(n), n <= 1<<63
	}
	return int64(n), n < 1<<63
}

// Float64 returns the float64 nearest to a number. It returns false if that is infinite, or zero for a
// number that is not. A number written as an integer must be one that a float64 holds exactly or is
// printed as: 9007199254740993 is refused, because it would become 9007199254740992.
func Float64(raw []byte) (float64, bool) { return float(raw, 64) }

// Float32 is Float64 for a float32.
func Float32(raw []byte) (float32, bool) {
	f, ok := float(raw, 32)
	return float32(f), ok
}

func float(raw []byte, bits int) (float64, bool) {
	f, err := strconv.ParseFloat(string(raw), bits)
	if err != nil {
		return 0, false
	}
	if f == 0 {
		mantissa, _, _ := bytes.Cut(bytes.ToLower(raw), []byte("e"))
		return f, !bytes.ContainsAny(mantissa, "123456789")
	}
	if len(raw) <= 7 || bytes.ContainsAny(raw, ".eE") {
		return f, true // up to seven digits are exact in both
	}
	var buf [MaxNumber]byte
	return f, bytes.Equal(raw, strconv.AppendFloat(buf[:0], f, 'f', -1, bits)) ||
		bytes.Equal(raw, strconv.AppendFloat(buf[:0], f, 'f', 0, bits))
}

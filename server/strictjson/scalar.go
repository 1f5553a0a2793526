package strictjson

// Kind is the kind of a Token.
type Kind uint8

const (
	Invalid Kind = iota
	String
	Number
	True
	False
	Null
)

// Token is a value that is neither array nor object.
type Token struct {
	Kind Kind
	// Raw is a number as written, or a string between its quotes. It is part of the text.
	Raw     []byte
	escaped bool
}

// Text returns the text of a String. It unescapes in place: call it once.
func (t Token) Text() []byte {
	if t.escaped {
		return unescape(t.Raw)
	}
	return t.Raw
}

// Scalar reads a value that is neither array nor object.
func (r *Reader) Scalar() Token {
	if r.err != nil {
		return Token{}
	}
	switch c := r.peek(); {
	case c == '"':
		return r.stringToken()
	case c == '-' || c >= '0' && c <= '9':
		return r.numberToken()
	case c == 't':
		return r.literal("true", True)
	case c == 'f':
		return r.literal("false", False)
	case c == 'n':
		return r.literal("null", Null)
	case c == '{' || c == '[':
		r.wrongType("a string, a number, a boolean or null")
	default:
		r.syntax(r.pos, "a value")
	}
	return Token{}
}

func (r *Reader) literal(word string, kind Kind) Token {
	if len(r.data)-r.pos < len(word) || string(r.data[r.pos:r.pos+len(word)]) != word {
		r.syntax(r.pos, "a value")
		return Token{}
	}
	raw := r.data[r.pos : r.pos+len(word)]
	r.pos += len(word)
	return Token{Kind: kind, Raw: raw}
}

func (r *Reader) stringToken() Token {
	end, escaped := r.scanString(r.pos + 1)
	if end < 0 {
		return Token{}
	}
	raw := r.data[r.pos+1 : end]
	r.pos = end + 1
	return Token{Kind: String, Raw: raw, escaped: escaped}
}

func (r *Reader) numberToken() Token {
	end := r.scanNumber(r.pos)
	if r.err != nil {
		return Token{}
	}
	raw := r.data[r.pos:end]
	r.pos = end
	return Token{Kind: Number, Raw: raw}
}

// Text reads a string and returns it unescaped.
func (r *Reader) Text() []byte {
	if r.err != nil {
		return nil
	}
	if r.peek() != '"' {
		r.wrongType("a string")
		return nil
	}
	return r.stringToken().Text()
}

// Number reads a number and returns it as written.
func (r *Reader) Number() []byte {
	if r.err != nil {
		return nil
	}
	if c := r.peek(); c != '-' && (c < '0' || c > '9') {
		r.wrongType("a number")
		return nil
	}
	return r.numberToken().Raw
}

// Bool reads true or false.
func (r *Reader) Bool() bool {
	if r.err != nil {
		return false
	}
	if c := r.peek(); c != 't' && c != 'f' {
		r.wrongType("true or false")
		return false
	}
	return r.Scalar().Kind == True
}

// Null reports whether the next value is null, and reads it if so.
func (r *Reader) Null() bool {
	return r.err == nil && r.peek() == 'n' && r.Scalar().Kind == Null
}

package strictjson

import "bytes"

// Reader reads one JSON text from front to back. The zero value is ready for Reset.
//
//	r.Reset(body)
//	r.Object()
//	for r.Key() {
//		switch string(r.Name()) {
//		case "items":
//			r.Array()
//			for r.Next() { … r.String() … }
//		default:
//			r.Fail(…)
//		}
//	}
//	r.End()
//	err := r.Err()
//
// The first error stays. After it Key and Next return false and values are empty, so callers check Err
// only once, at the end.
//
// The Reader owns the bytes given to Reset: it unescapes strings in place, and its results are parts of
// them. A Reader is for one goroutine.
type Reader struct {
	data   []byte
	pos    int
	depth  int // frames in use
	most   int // frames that may be in use
	err    *Error
	name   []byte
	keys   []span // the keys so far of all open objects
	frames [MostDepth]frame
}

// frame is an open array or object.
type frame struct {
	index int  // of the current element or field, -1 before the first
	keys  int  // the start of its keys in Reader.keys
	key   span // of the current field; empty before it is read
	array bool
}

// span is a part of the text. It has two numbers instead of a slice, because there is one per field of the
// text, and pointers cost the garbage collector time.
type span struct{ start, end int }

// Reset makes r read data from the start.
func (r *Reader) Reset(data []byte) {
	r.data, r.pos, r.depth, r.most, r.err, r.name, r.keys = data, 0, 0, MaxDepth, nil, nil, r.keys[:0]
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		r.fail(0, InvalidJSON, "the JSON text begins with a byte order mark")
	}
}

// Err returns the first error, or nil.
func (r *Reader) Err() error {
	if r.err == nil {
		return nil
	}
	return r.err
}

// Check reports why a Reader would not accept data as one JSON text. It does not look for duplicate names;
// reading the fields does. It may unescape keys in place.
func Check(data []byte) error {
	var r Reader
	r.Reset(data)
	r.Skip()
	r.End()
	return r.Err()
}

// space returns the index of the first byte at or after i that is not white space.
func (r *Reader) space(i int) int {
	if i < len(r.data) && r.data[i] > ' ' {
		return i
	}
	return r.skipSpace(i)
}

func (r *Reader) skipSpace(i int) int {
	for i < len(r.data) {
		switch r.data[i] {
		case ' ', '\n', '\t', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

// peek returns the first byte of the next value, or 0 at the end of the text.
func (r *Reader) peek() byte {
	r.pos = r.space(r.pos)
	if r.pos < len(r.data) {
		return r.data[r.pos]
	}
	return 0
}

// AtObject reports whether the next value is an object.
func (r *Reader) AtObject() bool { return r.err == nil && r.peek() == '{' }

// AtText reports whether the next value is a string.
func (r *Reader) AtText() bool { return r.err == nil && r.peek() == '"' }

// AtNumber reports whether the next value is a number.
func (r *Reader) AtNumber() bool {
	c := r.peek()
	return r.err == nil && (c == '-' || c >= '0' && c <= '9')
}

// Object enters an object. Key steps through its fields.
func (r *Reader) Object() { r.open('{', "an object") }

// SetMaxDepth changes how many arrays and objects may be open from here on, up to MostDepth.
func (r *Reader) SetMaxDepth(n int) { r.most = min(n, MostDepth) }

// Array enters an array. Next steps through its elements.
func (r *Reader) Array() { r.open('[', "an array") }

func (r *Reader) open(bracket byte, what string) {
	if r.err != nil {
		return
	}
	if r.peek() != bracket {
		r.wrongType(what)
		return
	}
	if r.depth >= r.most {
		r.Fail(TooDeep, "more than %d arrays and objects are open", r.most)
		return
	}
	r.frames[r.depth] = frame{index: -1, keys: len(r.keys), array: bracket == '['}
	r.depth++
	r.pos++
}

// wrongType records that the next value has the wrong type, or that it is not JSON at all.
func (r *Reader) wrongType(what string) {
	start, path := r.pos, r.Path()
	r.Skip()
	if r.err == nil {
		r.err = &Error{Code: WrongType, At: path, Offset: start, Message: "value must be " + what}
	}
}

// Key steps to the next field of the last entered object and reports whether there is one. Without one it
// leaves the object. The caller must read the field's value before it calls Key again. A duplicate name
// is an error.
func (r *Reader) Key() bool {
	return r.field() && r.addKey()
}

// field steps to the next field and reads its name.
func (r *Reader) field() bool {
	if r.err != nil || !r.step('}', "an object") {
		return false
	}
	f := &r.frames[r.depth-1]
	f.key = span{}
	if r.pos >= len(r.data) || r.data[r.pos] != '"' {
		r.syntax(r.pos, "a field name in quotes")
		return false
	}
	start := r.pos + 1
	end, escaped := r.scanString(start)
	if end < 0 {
		return false
	}
	name := r.data[start:end]
	if escaped {
		name = unescape(name)
	}
	f.key = span{start, start + len(name)}
	r.pos = r.space(end + 1)
	if r.pos >= len(r.data) || r.data[r.pos] != ':' {
		r.syntax(r.pos, "a colon")
		return false
	}
	r.pos++
	r.name = name
	return true
}

// addKey adds the key of the current field to the keys of the object, unless it is a duplicate.
func (r *Reader) addKey() bool {
	f := &r.frames[r.depth-1]
	keys := r.keys[f.keys:]
	r.keys = append(r.keys, f.key)
	for _, k := range keys {
		if k.end-k.start == len(r.name) && string(r.data[k.start:k.end]) == string(r.name) {
			r.Fail(DuplicateField, "the field stands twice in the object")
			return false
		}
	}
	if len(keys) == MaxFields {
		r.Fail(TooManyFields, "the object has more than %d fields", MaxFields)
		return false
	}
	return true
}

// Name returns the name of the field that Key stepped to.
func (r *Reader) Name() []byte { return r.name }

// Next steps to the next element of the last entered array and reports whether there is one. Without one
// it leaves the array. The caller must read the element before it calls Next again.
func (r *Reader) Next() bool {
	return r.err == nil && r.step(']', "an array")
}

// Index returns the position of the element that Next stepped to.
func (r *Reader) Index() int { return r.frames[r.depth-1].index }

// step moves to the next field or element after its comma, or past the closing bracket.
func (r *Reader) step(bracket byte, what string) bool {
	f := &r.frames[r.depth-1]
	i := r.space(r.pos)
	if i >= len(r.data) {
		r.syntax(i, "the end of "+what)
		return false
	}
	switch c := r.data[i]; {
	case c == bracket:
		r.keys = r.keys[:f.keys]
		r.depth--
		r.pos = i + 1
		return false
	case f.index < 0:
		r.pos = i
	case c == ',':
		r.pos = r.space(i + 1)
	default:
		r.syntax(i, "a comma or the end of "+what)
		return false
	}
	f.index++
	return true
}

// End refuses anything but white space in the rest of the text.
func (r *Reader) End() {
	if r.err != nil {
		return
	}
	if r.pos = r.space(r.pos); r.pos < len(r.data) {
		r.fail(r.pos, InvalidJSON, "bytes follow the JSON text at byte %d", r.pos)
	}
}

// Skip reads a value of any kind and checks that it is JSON. Like Check it does not look for duplicate
// names.
func (r *Reader) Skip() {
	if r.err != nil {
		return
	}
	switch r.peek() {
	case '{':
		r.Object()
		for r.field() {
			r.Skip()
		}
	case '[':
		r.Array()
		for r.Next() {
			r.Skip()
		}
	default:
		r.Scalar()
	}
}

// Package strictjson reads JSON from untrusted clients. It accepts RFC 8259 and refuses everything that
// the RFC leaves open, so that an accepted text has one meaning:
//
//   - invalid UTF-8, including overlong forms and surrogates;
//   - an escaped surrogate without its other half;
//   - a duplicate key in an object, compared after unescaping, when its fields are read (the grammar
//     allows it, so Check and Skip do);
//   - a byte order mark, and anything but white space after the value;
//   - more than MaxDepth open arrays and objects, more than MaxFields fields in an object that is read, a
//     number of more than MaxNumber bytes;
//   - a number that nothing can hold: no int64, and as a float64 infinite, rounded to zero, or, when
//     written as an integer, another integer.
//
// U+0000 is allowed where it is escaped, like every other control character.
//
// A Reader is a cursor over the bytes and builds no tree, so its memory does not depend on the text. It
// looks at each byte once, in order, so it reports the first error of the text.
package strictjson

const (
	// MaxDepth bounds the arrays and objects that are open at once, unless SetMaxDepth has changed that,
	// up to MostDepth.
	MaxDepth  = 32
	MostDepth = 64
	// MaxFields bounds the fields of an object, and so the cost of finding duplicates.
	MaxFields = 64
	// MaxNumber bounds a number, in bytes.
	MaxNumber = 128
)

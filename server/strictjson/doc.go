// Package strictjson reads JSON that comes from strangers. It accepts what RFC
// 8259 allows and refuses what the RFC leaves to chance, so that a text that is
// accepted means one thing to everybody:
//
//   - bytes that are not UTF-8, overlong forms and surrogates included;
//   - an escaped surrogate without its other half;
//   - a key that stands twice in an object, compared after unescaping, when its
//     fields are read (the grammar allows it, so Check and Skip do);
//   - a byte order mark, and anything but white space after the value;
//   - more than MaxDepth open arrays and objects, more than MaxFields fields in
//     an object that is read, a number of more than MaxNumber bytes;
//   - a number that nothing can hold: no int64, and as a float64 infinite,
//     rounded to zero, or, when written as an integer, another integer.
//
// U+0000 is allowed where it is escaped, like every other control character.
//
// A Reader is a cursor over the bytes and builds no tree: the memory it needs
// does not depend on the text. Each byte is looked at once, in the order of the
// text, so the first thing that is wrong is the one that is reported.
package strictjson

const (
	// MaxDepth is how many arrays and objects may be open at once.
	MaxDepth = 32
	// MaxFields is how many fields an object may have. It bounds the cost of
	// looking for duplicates.
	MaxFields = 64
	// MaxNumber is how many bytes a number may have.
	MaxNumber = 128
)

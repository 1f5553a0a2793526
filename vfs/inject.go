package vfs

// Effect is what an operation does although it returns an error.
type Effect uint8

const (
	None Effect = iota // nothing
	Half               // a part
	Full               // all of it
)

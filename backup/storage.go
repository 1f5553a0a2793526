package backup

import (
	"context"
	"io"
	"time"
)

// Storage is where a repository is. It is safe for concurrent use. Names are slash-separated.
type Storage interface {
	// Put writes an object, whole or not at all, and returns once it is durable. It replaces one of the name. size is that
	// of the content, -1 if it is not known. If content fails, there is no object.
	Put(ctx context.Context, name string, content io.Reader, size int64) error
	// Get opens an object. It fails with fs.ErrNotExist if there is none.
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	// List returns the objects whose names begin with a prefix, or all for "", sorted by name. Behind the last slash of the prefix there
	// may be the beginning of a name.
	List(ctx context.Context, prefix string) ([]Object, error)
	// Remove removes an object. It is no error if there is none.
	Remove(ctx context.Context, name string) error
	// String names the storage, for messages.
	String() string
}

// Object is an object of a Storage.
type Object struct {
	Name string
	Size int64
}

// linker is a Storage that can take over a file of this machine by a further name of it.
type linker interface {
	// link makes the file an object. It reports false, and does nothing, if that is not possible.
	link(file, name string) (bool, error)
}

// leaver is a Storage in which killed processes leave what is no object.
type leaver interface {
	// removeLeft removes what nobody has written to since a time.
	removeLeft(since time.Time) error
}

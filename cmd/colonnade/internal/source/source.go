// Package source opens what an import reads: a file, standard input, a URL, or an object of an S3-compatible service.
package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/colonnade-db/colonnade/backup"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/format"
)

// Options say how to reach a source.
type Options struct {
	Stdin    io.Reader
	Endpoint string // URL of the service of s3://
	Region   string // of the bucket; "" asks the service

	// RetryFor bounds how long a connection that broke is made again.
	RetryFor time.Duration
	Retry    func(wait time.Duration, cause error) // it will be made again; may be nil
}

// Source is an open source.
type Source struct {
	io.ReadCloser
	Name string // for messages: it has no secrets of a URL
	Path string // its name alone, which may say the format; "" for standard input
	Size int64  // in bytes, -1 if unknown
	// File is the same source where it can be read at any place, otherwise nil.
	File format.File
}

// Open opens a source. A name is "-" for standard input, or begins with http://, https:// or s3://, or is that of a
// file.
func Open(ctx context.Context, name string, o Options) (*Source, error) {
	switch scheme, rest, _ := strings.Cut(name, "://"); {
	case name == "-":
		return &Source{ReadCloser: io.NopCloser(o.Stdin), Name: "standard input", Size: -1}, nil
	case scheme == "http" || scheme == "https":
		return openURL(ctx, name, o)
	case scheme == "s3":
		return openObject(ctx, rest, o)
	}
	return openFile(name)
}

func openFile(name string) (*Source, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	s := &Source{ReadCloser: file, Name: name, Path: name, Size: -1}
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		s.Size, s.File = info.Size(), plainFile{file, info.Size()}
	}
	return s, nil
}

type plainFile struct {
	*os.File
	size int64
}

func (f plainFile) Size() int64 { return f.size }

func openURL(ctx context.Context, name string, o Options) (*Source, error) {
	u, err := url.Parse(name)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%.200q is no URL", name)
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path} // users and queries may be secrets
	w := &web{url: u.String(), name: shown.String()}
	return open(ctx, &Source{Name: w.name, Path: path.Base(u.Path)}, w.open, o)
}

// ParseObject splits what is behind s3:// into a bucket and the name of an object.
func ParseObject(rest string) (bucket, object string, err error) {
	bucket, object, _ = strings.Cut(rest, "/")
	if bucket == "" || object == "" || strings.HasSuffix(object, "/") {
		return "", "", fmt.Errorf("s3://%s names no object: it is s3://BUCKET/OBJECT", rest)
	}
	return bucket, object, nil
}

func openObject(ctx context.Context, rest string, o Options) (*Source, error) {
	bucket, object, err := ParseObject(rest)
	if err != nil {
		return nil, err
	}
	storage, err := backup.NewBucket(ctx, backup.Bucket{Endpoint: o.Endpoint, Region: o.Region, Name: bucket})
	if err != nil {
		return nil, err
	}
	b := &stored{storage: storage, object: object}
	return open(ctx, &Source{Name: "s3://" + rest, Path: path.Base(object)}, b.open, o)
}

// open opens a remote source. Only what has begun is tried again: a wrong name is more likely than a service that
// is starting.
func open(ctx context.Context, s *Source, at opener, o Options) (*Source, error) {
	r := newSteady(ctx, at, o)
	if err := r.reopen(); err != nil {
		r.stop()
		return nil, err
	}
	s.ReadCloser, s.Size = r, r.size
	return s, nil
}

// stored opens an object.
type stored struct {
	storage backup.Storage
	object  string
	etag    string // of the object that was opened first
}

func (b *stored) open(ctx context.Context, offset int64) (io.ReadCloser, int64, error) {
	body, err := b.storage.Get(ctx, b.object)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, final{fmt.Errorf("there is no object %q in %s", b.object, b.storage)}
	}
	if err != nil {
		return nil, 0, err
	}
	size, err := b.seek(body, offset)
	if err != nil {
		return nil, 0, errors.Join(err, body.Close())
	}
	return body, size, nil
}

// seek goes to a place in an object, and returns its size.
func (b *stored) seek(body io.ReadCloser, offset int64) (int64, error) {
	o, ok := body.(*minio.Object)
	if !ok {
		return -1, nil
	}
	info, err := o.Stat()
	if err != nil {
		return 0, err
	}
	if b.etag == "" {
		b.etag = info.ETag
	}
	if info.ETag != b.etag {
		return 0, final{fmt.Errorf("%s/%s was replaced meanwhile", b.storage, b.object)}
	}
	_, err = o.Seek(offset, io.SeekStart)
	return info.Size, err
}

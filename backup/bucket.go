package backup

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Bucket is where a repository is in an S3-compatible service.
type Bucket struct {
	Endpoint string // URL of the service, such as https://s3.eu-central-1.amazonaws.com
	Region   string // "" asks the service
	Name     string
	Prefix   string // of the names of objects, without a slash at the end; may be empty
}

// NewBucket returns a Storage in a bucket, which must exist. Credentials come from AWS_ACCESS_KEY_ID,
// AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or from the file of AWS_SHARED_CREDENTIALS_FILE, or ~/.aws/credentials.
func NewBucket(ctx context.Context, b Bucket) (Storage, error) {
	u, err := url.Parse(b.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("endpoint %q is no URL such as https://s3.eu-central-1.amazonaws.com", b.Endpoint)
	}
	c, err := minio.New(u.Host, &minio.Options{
		Creds:  credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}),
		Secure: u.Scheme == "https", Region: b.Region,
	})
	if err != nil {
		return nil, err
	}
	s := &bucket{c: c, name: b.Name, endpoint: b.Endpoint}
	if b.Prefix != "" {
		s.prefix = b.Prefix + "/"
	}
	there, err := c.BucketExists(ctx, b.Name)
	switch {
	case err == nil && !there:
		return nil, fmt.Errorf("there is no bucket %q at %s: make it first", b.Name, b.Endpoint)
	case err != nil && ctx.Err() == nil && minio.ToErrorResponse(err).StatusCode == 0:
		return nil, fmt.Errorf("%s cannot be reached: it must be the URL of an S3-compatible service that runs: %w", b.Endpoint, err)
	case err != nil:
		return nil, s.explain(err)
	}
	return s, nil
}

// bucket is a Storage in a bucket.
type bucket struct {
	c            *minio.Client
	name, prefix string
	endpoint     string
}

func (b *bucket) String() string { return "s3://" + strings.TrimSuffix(b.name+"/"+b.prefix, "/") }

// partBytes is the size of the parts in which large objects are sent. Of those whose size is not known, one for each is held
// in memory. A service takes 10,000 parts.
const partBytes = 16 << 20

func (b *bucket) Put(ctx context.Context, name string, content io.Reader, size int64) error {
	_, err := b.c.PutObject(ctx, b.name, b.prefix+name, contextReader{ctx, content}, size,
		minio.PutObjectOptions{ContentType: "application/octet-stream", PartSize: partBytes})
	return b.explain(err)
}

func (b *bucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	o, err := b.c.GetObject(ctx, b.name, b.prefix+name, minio.GetObjectOptions{})
	if err == nil {
		_, err = o.Stat() // asks the service
	}
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return nil, &fs.PathError{Op: "get", Path: name, Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, b.explain(err)
	}
	return o, nil
}

func (b *bucket) List(ctx context.Context, prefix string) (list []Object, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for o := range b.c.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: true}) {
		if o.Err != nil {
			return nil, b.explain(o.Err)
		}
		list = append(list, Object{Name: strings.TrimPrefix(o.Key, b.prefix), Size: o.Size})
	}
	slices.SortFunc(list, func(a, b Object) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func (b *bucket) Remove(ctx context.Context, name string) error {
	return b.explain(b.c.RemoveObject(ctx, b.name, b.prefix+name, minio.RemoveObjectOptions{}))
}

// explain says what to do about an error of the service.
func (b *bucket) explain(err error) error {
	if err == nil {
		return nil
	}
	r := minio.ToErrorResponse(err)
	switch {
	case r.Code == "RequestTimeTooSkewed":
		return fmt.Errorf("bucket %s: the clock of this machine, or of the service, is wrong: %w", b.name, err)
	case r.StatusCode == http.StatusMovedPermanently, r.StatusCode == http.StatusTemporaryRedirect, r.StatusCode == http.StatusBadRequest:
		return fmt.Errorf("bucket %s: %s does not serve it as asked: region and URL of the service must be those of the bucket; without a region the service says it: %w", b.name, b.endpoint, err)
	case r.StatusCode >= http.StatusInternalServerError:
		return fmt.Errorf("bucket %s: %s has failed, try again later: %w", b.name, b.endpoint, err)
	case r.StatusCode == http.StatusForbidden:
		return fmt.Errorf("bucket %s: access is denied: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or ~/.aws/credentials, must have keys that may list, read, write and delete there: %w", b.name, err)
	case r.Code == minio.NoSuchBucket:
		return fmt.Errorf("there is no bucket %q: make it first", b.name)
	}
	return fmt.Errorf("bucket %s: %w", b.name, err)
}

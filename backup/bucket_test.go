package backup

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestBucketErrors: each answer of a service that is none says what to do.
func TestBucketErrors(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	for _, c := range []struct {
		status     int
		code, want string
	}{
		{403, "InvalidAccessKeyId", "access is denied: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
		{403, "SignatureDoesNotMatch", "access is denied"},
		{403, "RequestTimeTooSkewed", "the clock of this machine, or of the service, is wrong"},
		{400, "AuthorizationHeaderMalformed", "region and URL of the service must be those of the bucket"},
		{301, "PermanentRedirect", "region and URL of the service must be those of the bucket"},
		{404, "NoSuchBucket", `there is no bucket "backups"`},
		{501, "NotImplemented", "has failed, try again later"},
	} {
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && r.URL.Query().Has("location") {
				fmt.Fprint(w, `<LocationConstraint>eu-central-1</LocationConstraint>`)
				return
			}
			w.Header().Set("X-Minio-Error-Code", c.code) // the answer to a HEAD has no body
			w.WriteHeader(c.status)
		}))
		_, err := NewBucket(context.Background(), Bucket{Endpoint: service.URL, Name: "backups"})
		service.Close()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d %s: %v, want %q", c.status, c.code, err, c.want)
		}
		if c.status != 403 {
			continue
		}
		if _, err = NewBucket(context.Background(), Bucket{Endpoint: service.URL, Name: "backups"}); err == nil || !strings.Contains(err.Error(), service.URL+" cannot be reached") {
			t.Errorf("without a service: %v", err)
		}
	}
}

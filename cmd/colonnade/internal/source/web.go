package source

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// web opens a URL. What comes is not decompressed on the way: its bytes are counted.
type web struct {
	url, name string
	validator string // of the file that was opened first, for If-Range; "" if the server gave none
}

var webClient = &http.Client{Transport: func() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableCompression = true
	return t
}()}

func (w *web) open(ctx context.Context, offset int64) (io.ReadCloser, int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url, nil)
	if err != nil {
		return nil, 0, final{err}
	}
	request.Header.Set("User-Agent", "colonnade-import")
	if offset > 0 {
		if w.validator == "" {
			return nil, 0, final{fmt.Errorf("the connection broke at byte %d, and the server of %s does not say by which to know the file again, an ETag or Last-Modified: import again, or from a copy", offset, w.name)}
		}
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
		request.Header.Set("If-Range", w.validator)
	}
	answer, err := webClient.Do(request)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", w.name, withoutURL(err))
	}
	if err := w.check(answer, offset); err != nil {
		_ = answer.Body.Close()
		return nil, 0, err
	}
	if offset > 0 {
		return answer.Body, -1, nil
	}
	w.validator = validator(answer.Header)
	return answer.Body, answer.ContentLength, nil
}

// check looks at the status of an answer.
func (w *web) check(answer *http.Response, offset int64) error {
	status := answer.StatusCode
	switch {
	case offset == 0 && status == http.StatusOK:
		return nil
	case offset > 0 && status == http.StatusPartialContent && strings.HasPrefix(answer.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", offset)):
		return nil
	case offset > 0 && (status == http.StatusOK || status == http.StatusPartialContent):
		return final{fmt.Errorf("%s: the connection broke at byte %d, and the server does not go on there: the file has changed, or the server has no ranges", w.name, offset)}
	}
	err := fmt.Errorf("%s: the server answered %s", w.name, answer.Status)
	if status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout {
		return err
	}
	return final{err}
}

// validator returns by what a file is known again: a strong ETag, or else the time of its change.
func validator(h http.Header) string {
	if tag := h.Get("ETag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		return tag
	}
	return h.Get("Last-Modified")
}

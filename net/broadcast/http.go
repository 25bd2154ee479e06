//go:build !js

package broadcast

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// HTTP is a Source of a web server.
type HTTP struct {
	base   string
	client *http.Client
}

// requestTimeout bounds a request with its response.
const requestTimeout = 15 * time.Second

// NewHTTP returns the source of the broadcast at an address, such as https://example.com/broadcast/main. client may be nil.
func NewHTTP(address string, client *http.Client) (*HTTP, error) {
	u, err := url.Parse(strings.TrimSuffix(strings.TrimSuffix(address, IndexName), "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("broadcast: %q is not an address of the form https://host/path", address)
	}
	if client == nil {
		client = http.DefaultClient
	}
	return &HTTP{u.String(), client}, nil
}

// Get requests a file.
func (s *HTTP) Get(ctx context.Context, name string, max int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/"+name, nil)
	if err != nil {
		return nil, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotFound || response.StatusCode == http.StatusGone:
		_, _ = io.CopyN(io.Discard, response.Body, 4<<10) // the connection is used again
		return nil, fmt.Errorf("%w: %s/%s", ErrNotFound, s.base, name)
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("broadcast: %s/%s: the server answered %s", s.base, name, response.Status)
	case response.ContentLength > int64(max):
		return nil, tooLarge(name, max)
	}
	return readAll(response.Body, name, max)
}

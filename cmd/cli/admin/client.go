package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Client sends requests to an admin server.
type Client struct {
	Addr  string // host:port, or a link of the server
	Token string
}

// RefusedError is the error of a request that the admin server refused.
type RefusedError struct {
	Status int    // of HTTP
	Text   string // why
}

// Error returns the reason.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the admin server refuses the request (%d): %s", e.Status, e.Text)
}

// ErrAddress is wrapped by the error about Client.Addr.
var ErrAddress = errors.New("not the address of an admin server: give host:port, such as 127.0.0.1:9090")

const answerLimit = 64 << 20 // bytes: more than the players of 500 rooms

// url returns the address of a path.
func (c *Client) url(path string) (string, error) {
	text := c.Addr
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Port() == "" && u.Scheme != "https" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
		return "", fmt.Errorf("%.80q is %w", c.Addr, ErrAddress)
	}
	return u.Scheme + "://" + u.Host + path, nil
}

// Do sends a request and decodes the response. content is the body of a POST; nil sends a GET.
func (c *Client) Do(ctx context.Context, path string, content, answer any) error {
	to, err := c.url(path)
	if err != nil {
		return err
	}
	method, body := http.MethodGet, []byte(nil)
	if content != nil {
		method = http.MethodPost
		if body, err = json.Marshal(content); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+c.Token)
	// The token must not reach another server by a redirect.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("the admin server does not respond: %w; check the address, and that serve runs with --admin", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, answerLimit))
	if err != nil {
		return fmt.Errorf("the response of the admin server is not complete: %w; try again", err)
	}
	if response.StatusCode != http.StatusOK {
		return refusal(response.StatusCode, text)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("%s is not an admin server of this version: %w; check the address and the version", c.Addr, err)
	}
	return nil
}

// refusal returns the error of a response that is not OK.
func refusal(status int, text []byte) error {
	var answer struct {
		Error string `json:"error"`
	}
	line := strings.TrimSpace(string(text))
	switch {
	case json.Unmarshal(text, &answer) == nil && answer.Error != "":
	case line != "" && len(line) <= 200 && !strings.ContainsAny(line, "\n<"): // a sentence of the page server, and no page of a proxy
		answer.Error = line
	default:
		answer.Error = http.StatusText(status)
	}
	return &RefusedError{status, answer.Error}
}

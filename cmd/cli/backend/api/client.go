package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tendon/cmd/cli/backend/queue"
)

// Client sends requests to a backend. Its zero fields are valid but for URL.
type Client struct {
	URL string // of the backend, without a path. Required
	Key string // bearer key or JWT. Optional on loopback
	// HTTP sends the requests. Default: http.DefaultClient.
	HTTP *http.Client
	// Retry is the time between two attempts while the backend does not answer. Default: 1 s.
	Retry time.Duration
}

// RefusedError is the error of a request that the backend refused.
type RefusedError struct {
	Status int // of HTTP
	Text   string
	ID     string // see Error.ID
}

// Error returns the sentence of the backend.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the backend refuses the request (%d): %s", e.Status, e.Text)
}

// ErrUnavailable is wrapped by the errors of a backend that does not answer, or not now.
var ErrUnavailable = errors.New("the backend does not answer")

const (
	replyLimit  = 1 << 20          // bytes of a reply
	pollWait    = 2 * time.Second  // for which a reply about a waiting ticket may be delayed
	requestTime = 40 * time.Second // longer than any wait
	cancelTime  = 3 * time.Second
)

// Check returns an error if URL is not the address of a backend.
func (c *Client) Check() error {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery+u.Fragment != "" || u.User != nil {
		return fmt.Errorf("%.80q is not the address of a backend: give one such as https://play.example.net", c.URL)
	}
	return nil
}

// Submit makes a ticket. key identifies the request: another one of the player with the same key returns the same ticket. Optional.
func (c *Client) Submit(ctx context.Context, r TicketRequest, key string) (t Ticket, err error) {
	return t, c.do(ctx, http.MethodPost, "/v1/tickets", key, r, &t)
}

// Get returns a ticket. It waits up to 30 s for a change while the ticket waits.
func (c *Client) Get(ctx context.Context, id string, wait time.Duration) (t Ticket, err error) {
	path := "/v1/tickets/" + url.PathEscape(id) + "?wait=" + strconv.Itoa(int(wait/time.Second))
	return t, c.do(ctx, http.MethodGet, path, "", nil, &t)
}

// Cancel cancels a ticket that waits.
func (c *Client) Cancel(ctx context.Context, id string) (t Ticket, err error) {
	return t, c.do(ctx, http.MethodDelete, "/v1/tickets/"+url.PathEscape(id), "", nil, &t)
}

// Wait makes a ticket and waits for its token. report receives each state. If the player waits in the queue already, Wait
// continues with that ticket. While the backend does not answer, Wait tries again. When ctx is done, it cancels the ticket.
func (c *Client) Wait(ctx context.Context, r TicketRequest, report func(Ticket)) (Ticket, error) {
	key := rand.Text()
	t, err := again(ctx, c, report, Ticket{}, func() (Ticket, error) { return c.Submit(ctx, r, key) })
	if refused := (*RefusedError)(nil); errors.As(err, &refused) && refused.ID != "" {
		t.ID, err = refused.ID, nil
	}
	for err == nil && t.Match == nil {
		if t.State == queue.Cancelled {
			return t, fmt.Errorf("the ticket was cancelled: %s", t.Reason)
		}
		if t.State != "" {
			report(t)
		}
		if t.State == queue.Matched {
			pause(ctx, time.Second)
		}
		last := t
		t, err = again(ctx, c, report, last, func() (Ticket, error) { return c.Get(ctx, last.ID, pollWait) })
		t.ID = last.ID
	}
	if ctx.Err() != nil && t.ID != "" {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
		defer cancel()
		_, _ = c.Cancel(end, t.ID) // otherwise the backend cancels it later
		return t, ctx.Err()
	}
	return t, err
}

// again calls f until the backend answers, or ctx is done.
func again(ctx context.Context, c *Client, report func(Ticket), last Ticket, f func() (Ticket, error)) (Ticket, error) {
	for {
		t, err := f()
		if !errors.Is(err, ErrUnavailable) || ctx.Err() != nil {
			return t, err
		}
		last.Reason = err.Error()
		report(last)
		pause(ctx, cmp.Or(c.Retry, time.Second))
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (c *Client) do(ctx context.Context, method, path, key string, body, reply any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.URL, "/")+path, content)
	if err != nil {
		return err
	}
	if c.Key != "" {
		r.Header.Set("Authorization", "Bearer "+c.Key)
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(r)
	if err != nil {
		if e := (*url.Error)(nil); errors.As(err, &e) { // its text repeats the address of the request
			err = e.Err
		}
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, replyLimit))
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case response.StatusCode < 300:
		if err = json.Unmarshal(text, reply); err != nil {
			return fmt.Errorf("%s is not a backend of this version: %w", c.URL, err)
		}
		return nil
	}
	e := Error{}
	if json.Unmarshal(text, &e) != nil || e.Error == "" {
		e.Error = http.StatusText(response.StatusCode)
	}
	switch response.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusTooManyRequests:
		return fmt.Errorf("%w: %s", ErrUnavailable, e.Error)
	}
	return &RefusedError{response.StatusCode, e.Error, e.ID}
}

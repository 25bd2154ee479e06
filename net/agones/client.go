package agones

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// Limits of a client.
const (
	requestTime = 2 * time.Second // for one request, its answer included
	maxBody     = 1 << 20         // bytes of an answer, or of one line of a watch: about those of an object in Kubernetes
)

// ErrAddress is wrapped by errors about the address of an SDK server.
var ErrAddress = errors.New("agones: bad address")

// ErrAnswer is wrapped by errors about answers of an SDK server: a status other than 200, or a body that is not valid or above 1 MiB.
var ErrAnswer = errors.New("agones: bad answer")

// LocalAddress returns the address of the SDK server beside this process: port AGONES_SDK_HTTP_PORT, by default 9358.
func LocalAddress() string {
	port := os.Getenv("AGONES_SDK_HTTP_PORT")
	if port == "" {
		port = "9358"
	}
	return net.JoinHostPort("127.0.0.1", port)
}

// Client calls an SDK server. Any goroutine may use it.
type Client struct {
	base string
	http *http.Client
}

// NewClient returns a client of the SDK server at an address, as host:port. It makes no connection.
func NewClient(address string) (*Client, error) {
	host, port, err := net.SplitHostPort(address)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n == 0 || host == "" {
		return nil, fmt.Errorf("%w: %q: give host:port, such as 127.0.0.1:9358", ErrAddress, address)
	}
	transport := &http.Transport{MaxIdleConns: 4, IdleConnTimeout: time.Minute}
	return &Client{base: "http://" + net.JoinHostPort(host, port), http: &http.Client{Transport: transport}}, nil
}

// Close closes the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// GameServer is what the SDK server reports about this server. Numbers of 64 bits are strings in its JSON.
type GameServer struct {
	Metadata struct {
		Name     string            `json:"name"`
		Labels   map[string]string `json:"labels"`
		Deletion int64             `json:"deletion_timestamp,string"` // seconds since 1970; 0: the server is not being deleted
	} `json:"object_meta"`
	Status Status `json:"status"`
}

// Status is the state of a server with its address.
type Status struct {
	State   string `json:"state"`
	Address string `json:"address"`
	Ports   []struct {
		Name string `json:"name"`
		Port int    `json:"port"`
	} `json:"ports"`
}

// The states that a reporter reads.
const (
	StateReady     = "Ready"
	StateAllocated = "Allocated"
	StateShutdown  = "Shutdown"
	StateUnhealthy = "Unhealthy"
)

// Public returns the address under which clients reach a port of the server, as host:port. "" is the first port. It is "" until
// Agones has placed the server.
func (g *GameServer) Public(port string) string {
	for _, p := range g.Status.Ports {
		if g.Status.Address != "" && (port == "" || p.Name == port) {
			return net.JoinHostPort(g.Status.Address, strconv.Itoa(p.Port))
		}
	}
	return ""
}

// Counter is a counter of the server.
type Counter struct {
	Count    int64 `json:"count,string"`
	Capacity int64 `json:"capacity,string"`
}

// List is a list of the server.
type List struct {
	Capacity int64    `json:"capacity,string"`
	Values   []string `json:"values"`
}

type (
	empty    struct{}
	keyValue struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	listValue struct {
		Value string `json:"value"`
	}
	counterUpdate struct {
		Capacity  *int64 `json:"capacity,omitempty,string"`
		CountDiff int64  `json:"countDiff,omitempty,string"`
	}
)

// Ready marks the server as ready for allocations.
func (c *Client) Ready(ctx context.Context) error { return c.call(ctx, "POST", "/ready", empty{}, nil) }

// Allocate marks the server as allocated.
func (c *Client) Allocate(ctx context.Context) error {
	return c.call(ctx, "POST", "/allocate", empty{}, nil)
}

// Health reports that the server works.
func (c *Client) Health(ctx context.Context) error {
	return c.call(ctx, "POST", "/health", empty{}, nil)
}

// Shutdown asks Agones to remove the server.
func (c *Client) Shutdown(ctx context.Context) error {
	return c.call(ctx, "POST", "/shutdown", empty{}, nil)
}

// SetLabel sets a label of the server, whose name in Kubernetes is agones.dev/sdk-KEY. Characters that a label may not contain
// are replaced by '-'.
func (c *Client) SetLabel(ctx context.Context, key, value string) error {
	return c.call(ctx, "PUT", "/metadata/label", keyValue{key, labelValue(value)}, nil)
}

// labelValue returns a text as the value of a label: at most 63 letters, digits, '-', '_' and '.', with a letter or digit at each end.
func labelValue(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '.':
			return r
		}
		return '-'
	}, text)
	return strings.Trim(text[:min(len(text), 63)], "-_.")
}

// GameServer returns the present description of the server.
func (c *Client) GameServer(ctx context.Context) (g GameServer, err error) {
	err = c.call(ctx, "GET", "/gameserver", nil, &g)
	return g, err
}

// Counter returns a counter of the server.
func (c *Client) Counter(ctx context.Context, name string) (n Counter, err error) {
	err = c.call(ctx, "GET", "/v1beta1/counters/"+url.PathEscape(name), nil, &n)
	return n, err
}

// AddCounter adds a number to a counter, which may be negative. If capacity is not nil, it also sets the capacity, before.
func (c *Client) AddCounter(ctx context.Context, name string, n int64, capacity *int64) error {
	return c.call(ctx, "PATCH", "/v1beta1/counters/"+url.PathEscape(name), counterUpdate{Capacity: capacity, CountDiff: n}, nil)
}

// List returns a list of the server.
func (c *Client) List(ctx context.Context, name string) (l List, err error) {
	err = c.call(ctx, "GET", "/v1beta1/lists/"+url.PathEscape(name), nil, &l)
	return l, err
}

// AddValue adds a value to a list. It fails if the list is full or has the value.
func (c *Client) AddValue(ctx context.Context, list, value string) error {
	return c.call(ctx, "POST", "/v1beta1/lists/"+url.PathEscape(list)+":addValue", listValue{value}, nil)
}

// RemoveValue removes a value from a list. It fails if the list does not have the value.
func (c *Client) RemoveValue(ctx context.Context, list, value string) error {
	return c.call(ctx, "POST", "/v1beta1/lists/"+url.PathEscape(list)+":removeValue", listValue{value}, nil)
}

// Watch calls f with the description of the server, at once and after each change. It returns when the stream or the context ends.
func (c *Client) Watch(ctx context.Context, f func(GameServer)) error {
	response, err := c.send(ctx, "GET", "/watch/gameserver", nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxBody)
	for lines.Scan() {
		var line struct {
			Result *GameServer `json:"result"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return fmt.Errorf("%w: a line of /watch/gameserver: %w", ErrAnswer, err)
		}
		if line.Result == nil {
			return fmt.Errorf("%w: a line of /watch/gameserver has no result", ErrAnswer)
		}
		f(*line.Result)
	}
	return lines.Err()
}

// call sends a request and decodes the answer, unless result is nil.
func (c *Client) call(ctx context.Context, method, path string, body, result any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	response, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	switch {
	case err != nil:
		return fmt.Errorf("agones: %s %s: %w", method, path, err)
	case len(text) > maxBody:
		return fmt.Errorf("%w: %s %s: more than %d bytes", ErrAnswer, method, path, maxBody)
	case result == nil:
		return nil
	}
	if err := json.Unmarshal(text, result); err != nil {
		return fmt.Errorf("%w: %s %s: %w", ErrAnswer, method, path, err)
	}
	return nil
}

// send sends a request. The caller closes the body of the answer, whose status is 200.
func (c *Client) send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var reader io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		reader = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, reader)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("agones: %w", err)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 200)) // the status is the error
	return nil, fmt.Errorf("%w: %s %s: %s: %.200q", ErrAnswer, method, path, response.Status, text)
}

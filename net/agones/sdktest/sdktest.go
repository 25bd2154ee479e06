// Package sdktest has an SDK server of Agones for tests: a double that follows the published REST interface strictly. An unknown
// path, method or field is an error of the test.
package sdktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Server is a double of the SDK server. Its counters and lists are those of a Fleet: they cannot be added by a request.
type Server struct {
	t    testing.TB
	http *httptest.Server

	mu       sync.Mutex
	state    string
	deletion int64
	labels   map[string]string
	counters map[string]*counter
	lists    map[string]*list
	health   int
	calls    []string // methods and paths, without health, reads and watches
	watchers map[chan struct{}]bool
	fault    func(http.ResponseWriter, *http.Request) bool
}

type counter struct{ count, capacity int64 }

type list struct {
	values   []string
	capacity int64
}

// Start starts a double on loopback, in the state Scheduled, with the counter rooms and the list players. It ends with the test.
func Start(t testing.TB, rooms, players int64) *Server {
	s := newServer(t, rooms, players)
	s.http = httptest.NewServer(s)
	s.endWith(t)
	return s
}

// StartAt is Start at an address, as host:port. It returns nil if the address is in use.
func StartAt(t testing.TB, address string, rooms, players int64) *Server {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil
	}
	s := newServer(t, rooms, players)
	s.http = &httptest.Server{Listener: listener, Config: &http.Server{Handler: s}}
	s.http.Start()
	s.endWith(t)
	return s
}

func newServer(t testing.TB, rooms, players int64) *Server {
	return &Server{t: t, state: "Scheduled", labels: map[string]string{}, watchers: map[chan struct{}]bool{},
		counters: map[string]*counter{"rooms": {capacity: rooms}}, lists: map[string]*list{"players": {capacity: players}}}
}

// endWith stops the server at the end of the test.
func (s *Server) endWith(t testing.TB) {
	t.Cleanup(func() {
		s.CutWatches()
		s.http.CloseClientConnections()
		s.http.Close()
	})
}

// Address returns the address of the server, as host:port.
func (s *Server) Address() string { return s.http.Listener.Addr().String() }

// Fault sets a function that may answer a request in place of the server. It returns true if it did. nil ends the fault.
func (s *Server) Fault(f func(http.ResponseWriter, *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// CutWatches ends all streams of /watch/gameserver.
func (s *Server) CutWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		delete(s.watchers, w)
		close(w)
	}
}

// SetState sets the state of the game server, as its controller does.
func (s *Server) SetState(state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = state
	s.changed()
}

// Delete marks the game server as being deleted.
func (s *Server) Delete() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deletion = 1800000000
	s.changed()
}

// Allocate does what an allocation with the action Increment does. It returns false without a place.
func (s *Server) Allocate() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counters["rooms"]
	if s.state != "Ready" && s.state != "Allocated" || c.count >= c.capacity {
		return false
	}
	c.count++
	s.state = "Allocated"
	s.changed()
	return true
}

// Snapshot is what a Server has received.
type Snapshot struct {
	State           string
	Labels          map[string]string
	Rooms, Capacity int64
	Players         []string // sorted
	Health          int      // number of requests
	Calls           []string // requests that change something, without health
}

// Snapshot returns what the server has received.
func (s *Server) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counters["rooms"]
	return Snapshot{State: s.state, Labels: maps.Clone(s.labels), Rooms: c.count, Capacity: c.capacity,
		Players: slices.Sorted(slices.Values(s.lists["players"].values)), Health: s.health, Calls: slices.Clone(s.calls)}
}

// changed wakes the watches. The mutex is held.
func (s *Server) changed() {
	for w := range s.watchers {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

var (
	counterPath = regexp.MustCompile(`^/v1beta1/counters/([^/:]+)$`)
	listPath    = regexp.MustCompile(`^/v1beta1/lists/([^/:]+)$`)
	valuePath   = regexp.MustCompile(`^/v1beta1/lists/([^/:]+):(addValue|removeValue)$`)
)

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	if fault != nil && fault(w, r) {
		return
	}
	if r.URL.Path == "/watch/gameserver" && r.Method == "GET" {
		s.watch(w, r)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<16))
	if err != nil {
		return // the client has gone
	}
	if r.Method != "GET" && r.Header.Get("Content-Type") != "application/json" {
		s.t.Errorf("%s %s has the content type %q, want application/json", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method != "GET" && r.URL.Path != "/health" {
		s.calls = append(s.calls, r.Method+" "+r.URL.Path)
	}
	answer, err := s.answer(r.Method, r.URL.Path, body)
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		answer = map[string]any{"code": 2, "message": err.Error(), "details": []any{}}
	}
	_ = json.NewEncoder(w).Encode(answer) // fails if the client has gone
}

// answer executes a request. The mutex is held.
func (s *Server) answer(method, path string, body []byte) (any, error) {
	states := map[string]string{"/ready": "Ready", "/allocate": "Allocated", "/shutdown": "Shutdown"}
	switch m := method + " " + path; {
	case method == "POST" && states[path] != "":
		s.decode(path, body, &struct{}{})
		s.state = states[path]
		s.changed()
		return struct{}{}, nil
	case m == "POST /health":
		s.decode(path, body, &struct{}{})
		s.health++
		return struct{}{}, nil
	case m == "PUT /metadata/label":
		var pair struct{ Key, Value string }
		s.decode(path, body, &pair)
		if !regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$`).MatchString(pair.Value) {
			s.t.Errorf("the label %s has the value %q, which Kubernetes refuses", pair.Key, pair.Value)
		}
		s.labels["agones.dev/sdk-"+pair.Key] = pair.Value
		s.changed()
		return struct{}{}, nil
	case m == "GET /gameserver":
		return s.gameServer(), nil
	case counterPath.MatchString(path):
		return s.answerCounter(method, counterPath.FindStringSubmatch(path)[1], body)
	case method == "GET" && listPath.MatchString(path):
		name := listPath.FindStringSubmatch(path)[1]
		if s.lists[name] == nil {
			return nil, fmt.Errorf("list not found: %s", name)
		}
		return s.listAnswer(name), nil
	case method == "POST" && valuePath.MatchString(path):
		found := valuePath.FindStringSubmatch(path)
		return s.answerValue(found[1], found[2] == "addValue", body)
	}
	s.t.Errorf("%s %s is not in the interface of the SDK server", method, path)
	return nil, fmt.Errorf("no such request")
}

// answerCounter reads or changes a counter.
func (s *Server) answerCounter(method, name string, body []byte) (any, error) {
	c := s.counters[name]
	if c == nil {
		return nil, fmt.Errorf("counter not found: %s", name)
	}
	next := *c
	switch method {
	case "GET":
	case "PATCH":
		var update struct{ Count, Capacity, CountDiff *string }
		s.decode(name, body, &update)
		if update.Count == nil && update.Capacity == nil && update.CountDiff == nil {
			return nil, fmt.Errorf("invalid argument")
		}
		if update.Capacity != nil {
			next.capacity = s.number(*update.Capacity)
		}
		if update.Count != nil {
			next.count = s.number(*update.Count)
		}
		if update.CountDiff != nil {
			next.count += s.number(*update.CountDiff)
		}
		counts := update.Count != nil || update.CountDiff != nil
		if next.capacity < 0 || counts && (next.count < 0 || next.count > next.capacity) {
			return nil, fmt.Errorf("out of range: count %d, capacity %d", next.count, next.capacity)
		}
		next.count = min(next.count, next.capacity) // a capacity alone may be below the count
		*c = next
		s.changed()
	default:
		s.t.Errorf("%s of a counter is not in the interface of the SDK server", method)
	}
	return map[string]string{"name": name, "count": text(c.count), "capacity": text(c.capacity)}, nil
}

// answerValue adds a value to a list, or removes it.
func (s *Server) answerValue(name string, add bool, body []byte) (any, error) {
	var in struct{ Value string }
	s.decode(name, body, &in)
	l := s.lists[name]
	if l == nil {
		return nil, fmt.Errorf("list not found: %s", name)
	}
	switch i := slices.Index(l.values, in.Value); {
	case add && i >= 0:
		return nil, fmt.Errorf("already exists: %s", in.Value)
	case add && int64(len(l.values)) >= l.capacity:
		return nil, fmt.Errorf("out of range: the list has %d values", len(l.values))
	case add:
		l.values = append(l.values, in.Value)
	case i < 0:
		return nil, fmt.Errorf("not found: %s", in.Value)
	default:
		l.values = slices.Delete(l.values, i, i+1)
	}
	s.changed()
	return s.listAnswer(name), nil
}

func (s *Server) listAnswer(name string) any {
	l := s.lists[name]
	return map[string]any{"name": name, "capacity": text(l.capacity), "values": append([]string{}, l.values...)}
}

// gameServer returns the description of the game server. The mutex is held.
func (s *Server) gameServer() any {
	counters, lists := map[string]any{}, map[string]any{}
	for name, c := range s.counters {
		counters[name] = map[string]string{"count": text(c.count), "capacity": text(c.capacity)}
	}
	for name, l := range s.lists {
		lists[name] = map[string]any{"capacity": text(l.capacity), "values": append([]string{}, l.values...)}
	}
	meta := map[string]any{"name": "arena-x7k2p-9qz4d", "namespace": "default", "uid": "1234", "resource_version": "7", "generation": "1",
		"creation_timestamp": "1790000000", "deletion_timestamp": text(s.deletion), "annotations": map[string]string{}, "labels": maps.Clone(s.labels)}
	return map[string]any{"object_meta": meta,
		"spec": map[string]any{"health": map[string]any{"disabled": false, "period_seconds": 5, "failure_threshold": 3, "initial_delay_seconds": 5}},
		"status": map[string]any{"state": s.state, "address": "127.0.0.1", "addresses": []any{map[string]string{"type": "InternalIP", "address": "127.0.0.1"}},
			"ports": []any{map[string]any{"name": "game", "port": 7654}}, "players": nil, "counters": counters, "lists": lists}}
}

// watch sends the description at once and after each change, until the client leaves or CutWatches is called.
func (s *Server) watch(w http.ResponseWriter, r *http.Request) {
	change := make(chan struct{}, 1)
	s.mu.Lock()
	s.watchers[change] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, change)
	}()
	for {
		s.mu.Lock()
		line, err := json.Marshal(map[string]any{"result": s.gameServer()})
		s.mu.Unlock()
		if err != nil {
			s.t.Error(err)
			return
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case _, ok := <-change:
			if !ok {
				return
			}
		}
	}
}

// decode reads a body, whose fields must be those of the interface, in their case.
func (s *Server) decode(where string, body []byte, into any) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil || d.More() {
		s.t.Errorf("%s: the body %q is not in the interface of the SDK server: %v", where, body, err)
	}
	for _, name := range regexp.MustCompile(`"([A-Za-z]+)":`).FindAllStringSubmatch(string(body), -1) {
		if !slices.Contains([]string{"key", "value", "count", "capacity", "countDiff"}, name[1]) {
			s.t.Errorf("%s: the field %s is not in the interface of the SDK server", where, name[1])
		}
	}
}

// number reads a number of 64 bits, which is a string in the JSON of the interface.
func (s *Server) number(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		s.t.Errorf("%q is not a number: %v", text, err)
	}
	return n
}

func text(n int64) string { return strconv.FormatInt(n, 10) }

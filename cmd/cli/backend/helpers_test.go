package backend

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"tendon/cmd/cli/backend/api"
	"tendon/net/cluster"
)

// fakeDirectory is a Directory that a test changes.
type fakeDirectory struct {
	mu   sync.Mutex
	list []cluster.Server
	open map[string]string // ids of owners, by room
}

func (d *fakeDirectory) set(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

func (d *fakeDirectory) Servers() []cluster.Server {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.list)
}

func (d *fakeDirectory) Owner(_ context.Context, room string) (cluster.Server, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.list, func(s cluster.Server) bool { return s.ID == d.open[room] })
	if i < 0 {
		return cluster.Server{}, false, nil
	}
	return d.list[i], true, nil
}

// appendTo adds text to a file.
func appendTo(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString(text)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// withKey returns a client with a key.
func (r *running) withKey(key string) *api.Client {
	c := r.Client
	c.Key = key
	return &c
}

// post sends a request, decodes the reply and returns its status.
func (r *running) post(path, body string, answer any) int {
	r.t.Helper()
	response, err := r.HTTP.Post(r.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	_ = json.NewDecoder(response.Body).Decode(answer)
	return response.StatusCode
}

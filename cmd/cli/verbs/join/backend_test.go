package join

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"tendon/cmd/cli/backend/api"
	"tendon/cmd/cli/backend/queue"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/internal/host"
	"tendon/cmd/cli/window"
	"tendon/net/client"
)

// A window that ends, here because there is no screen, ends the wait for a match. The wait itself would never end.
func TestTheEndOfTheWindowLeavesTheQueue(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a window opens without DISPLAY")
	}
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	var out, note strings.Builder
	a := app.New(t.Context(), crumbs.Game(), &out, &note)
	v := &Verb{ledger: host.NewLedger(a.Game, "client", nil)}
	err := v.inLobby(t.Context(), a, &client.Config{Game: a.Game}, &ticket{}, func(ctx context.Context) (client.DialConfig, error) {
		<-ctx.Done()
		return client.DialConfig{}, ctx.Err()
	})
	if !errors.Is(err, window.ErrUnavailable) || !strings.Contains(note.String(), "the queue was left") {
		t.Errorf("%v, printed %q", err, note.String())
	}
}

// At the end of --for, a ticket that no backend has accepted is an error. One that was accepted leaves the queue. So does Ctrl-C.
func TestTheEndOfForInTheQueue(t *testing.T) {
	accepts := func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(time.Millisecond)
		_ = json.NewEncoder(w).Encode(api.Ticket{ID: "1", State: queue.Queued})
	}
	for _, c := range []struct {
		name  string
		serve http.HandlerFunc // nil: no backend runs
		want  string
		stop  bool // Ctrl-C ends the wait
	}{
		{name: "no backend", want: "the backend does not answer"},
		{name: "not ready", want: "not ready yet", serve: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_ = json.NewEncoder(w).Encode(api.Error{Error: "not ready yet"})
		}},
		{name: "no reply", want: "there was no reply", serve: func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // the server then notices the end of the request
			<-r.Context().Done()
		}},
		{name: "accepted", serve: accepts},
		{name: "accepted before", serve: func(w http.ResponseWriter, r *http.Request) {
			switch r.Method {
			case http.MethodPost:
				w.WriteHeader(http.StatusConflict)
			case http.MethodGet:
				<-r.Context().Done()
			}
			_ = json.NewEncoder(w).Encode(api.Error{Error: "the player waits", ID: "1"})
		}},
		{name: "stopped", stop: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			limit := 3 * time.Second // which includes a reply
			if c.want == "there was no reply" {
				limit = 200 * time.Millisecond
			}
			backend := httptest.NewServer(c.serve)
			defer backend.Close()
			if c.serve == nil {
				backend.Close()
			}
			var out, note strings.Builder
			a := app.New(t.Context(), crumbs.Game(), &out, &note)
			v := &Verb{Bot: true, backendFlags: backendFlags{Backend: backend.URL, Queue: "duel"}}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			if c.stop {
				cancel()
			}
			err := v.queue(ctx, a, client.Config{Game: a.Game})
			left := strings.Contains(note.String(), "the queue was left")
			if c.want == "" && (err != nil || !left) {
				t.Errorf("%v, printed %q", err, note.String())
			}
			if c.want != "" && (err == nil || left || !strings.Contains(err.Error(), "did not accept the ticket before the end of --for") || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want an error with %q; printed %q", err, c.want, note.String())
			}
		})
	}
}

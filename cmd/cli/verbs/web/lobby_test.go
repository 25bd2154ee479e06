package web

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"tendon/cmd/arena/rules"
	"tendon/cmd/cli/backend"
	"tendon/cmd/cli/backend/api"
	"tendon/cmd/cli/backend/queue"
	"tendon/cmd/cli/page/pagetest"
)

// memoryLog is the log of a backend in a test.
type memoryLog struct{}

func (memoryLog) Leased() bool                               { return true }
func (memoryLog) Reached() bool                              { return true }
func (memoryLog) Recovered(context.Context) ([]byte, error)  { return nil, nil }
func (memoryLog) Append(context.Context, []byte, bool) error { return nil }

// A page with the address of a backend queues, shows that it waits, and plays when the match is made. The key leaves the address.
func TestThePageQueuesAtABackend(t *testing.T) {
	pagetest.Chromium(t)
	dir, _ := site(t, "arena")
	s := newStand(t, rules.Game(), 0, dir)
	tab := open(t)
	at := s.backend(t, s.pages.URL)
	tab.Go(s.pages.URL + "/#backend=" + at + "&queue=duel&player=ann&key=secret")
	tab.WaitFor(`document.querySelector("#state").textContent.startsWith("Queued, 1 waiting") && !location.href.includes("secret")`)
	other := api.Client{URL: at}
	if _, err := other.Submit(t.Context(), api.TicketRequest{Player: "bob", Queue: "duel"}, ""); err != nil {
		t.Fatal(err)
	}
	tab.WaitFor(playing)
}

// backend runs a backend for pages of an origin. Its matches are on the server of the stand.
func (s *stand) backend(t *testing.T, origin string) string {
	t.Helper()
	service, err := backend.New(backend.Config{Game: s.game.Name, Key: standKey, Queues: []queue.Queue{{Name: "duel", Players: 2}}, Origins: []string{origin},
		Directory: backend.NewStatic([]string{s.PublicAddr.String()}, 4, fmt.Sprintf("127.0.0.1:%d", s.webPort()), s.certificates.Hashes()), Interval: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { _ = service.Run(ctx, memoryLog{}); close(done) }()
	h := httptest.NewServer(service.Handler())
	t.Cleanup(func() { cancel(); <-done; h.Close() })
	return h.URL
}

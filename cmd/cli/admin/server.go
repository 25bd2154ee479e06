package admin

import (
	"context"
	"embed"
	"errors"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"tendon/cmd/cli/page"
	"tendon/cmd/cli/replaypage"
	"tendon/ecs"
	"tendon/net/cost"
	"tendon/net/server"
	"tendon/rollback/record"
)

//go:embed live
var live embed.FS

// profiles is the list of profiles. That of net/http/pprof has inline styles and scripts, which the policy of all pages
// forbids.
//
//go:embed profiles
var profiles embed.FS

// Config describes an admin server.
type Config struct {
	Page            page.Config // configures the address and access
	Game            *ecs.Game   // the game of the server. Required
	Strategy, Build string      // Strategy and Build are shown on the page. Optional
}

// Source provides the figures of a running server. Its functions may be called from any goroutine.
type Source struct {
	Stats func() server.Stats
	Peers func(room string) ([]server.PeerInfo, error)
	// Costs returns the costs of the open rooms, by Report.Name, and of all closed rooms.
	Costs  func() (open map[string]cost.Report, past cost.Report)
	Record func(ctx context.Context, room string) (*record.Record, error) // returns an open room's last seconds
	// Control removes and bans players, pauses matches and changes strategies. [server.Server] implements it. Optional: without
	// it the server cannot be controlled.
	Control Control
	// Quarantined is the number of journals that could not be recovered.
	Quarantined int
}

// Server is the admin server. Its state goes starting → ready → stopping, never back.
type Server struct {
	*page.Server
	config Config
	source atomic.Pointer[Source] // nil: starting
	ending atomic.Bool
	since  time.Time
}

const scrapes = 2 // bounds the concurrent requests of metrics

// New opens the socket. Requests are answered from Serve on, and figures from Ready on.
func New(c Config) (*Server, error) {
	if c.Game == nil {
		return nil, errors.New("admin: Game is nil: name the game")
	}
	pages, err := page.New(c.Page)
	if err != nil {
		return nil, err
	}
	s := &Server{Server: pages, config: c, since: time.Now()}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &metrics{server: s})
	pages.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: scrapes}))
	pages.HandlePublic("/healthz", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { respond(w, true, "alive") }))
	pages.HandlePublic("/readyz", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		state := s.state()
		respond(w, state == stateReady, state)
	}))
	for name, handler := range map[string]http.HandlerFunc{"": pprof.Index, "cmdline": pprof.Cmdline, "symbol": pprof.Symbol,
		"profile": labelled(pprof.Profile), "trace": labelled(pprof.Trace)} {
		pages.Handle("/debug/pprof/"+name, handler)
	}
	pages.Page("/debug/pprof/", profiles, "profiles")
	pages.Page("/", live, "live")
	pages.Stream("/live", s.watch)
	s.handleControls()
	replaypage.Register(pages, "/last/", s.last)
	return s, nil
}

// labelled runs a profiler with labels. It refuses requests from other sites, which browsers mark with Sec-Fetch-Site, if the
// server is on localhost or behind TLS.
func labelled(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
			http.Error(w, "the request comes from another site: open the profile from /debug/pprof/, or type its address", http.StatusForbidden)
			return
		}
		defer cost.LabelSamples()()
		h(w, r)
	}
}

// recordTimeout bounds the wait for a room whose worker is busy.
const recordTimeout = 5 * time.Second

// last opens the last seconds of a room.
func (s *Server) last(ctx context.Context, room string) ([]replaypage.Match, error) {
	from := s.source.Load()
	if from == nil {
		return nil, errors.New("the server is not ready yet")
	}
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	last, err := from.Record(ctx, room)
	if err != nil {
		return nil, err
	}
	return []replaypage.Match{{Name: room, Record: last}}, nil
}

func respond(w http.ResponseWriter, ok bool, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = w.Write([]byte(text + "\n"))
}

// Ready sets the state to ready: the server accepts players.
func (s *Server) Ready(from Source) { s.source.Store(&from) }

// Stopping sets the state to stopping: no further players should be sent to the server.
func (s *Server) Stopping() { s.ending.Store(true) }

// The states of a server, as /readyz and the page show them.
const (
	stateStarting = "starting"
	stateReady    = "ready"
	stateStopping = "stopping"
)

func (s *Server) state() string {
	switch {
	case s.ending.Load():
		return stateStopping
	case s.source.Load() == nil:
		return stateStarting
	}
	return stateReady
}

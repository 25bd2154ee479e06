package admin

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"tendon/cmd/cli/page"
	"tendon/cmd/cli/travelpage"
	"tendon/ecs"
	"tendon/net/cost"
	"tendon/net/server"
	"tendon/rollback/travel"
)

//go:embed live
var live embed.FS

// profiles is the list of profiles: net/http/pprof's own has its style and scripts in the page, which no page here may.
//
//go:embed profiles
var profiles embed.FS

// Config describes an admin server.
type Config struct {
	// Page says where it listens and whom it lets in.
	Page page.Config
	// Game is what is played. Required.
	Game *ecs.Game
	// Strategy and Build are shown; "": nothing is.
	Strategy, Build string
	// Meter returns what measures the ticks of a room's last seconds while they are played again; nil: they have no costs.
	Meter func() travel.Meter
}

// ErrConfig is wrapped by errors about a Config; those about its Page wrap page.ErrConfig.
var ErrConfig = errors.New("admin: bad Config")

// Source is where the figures of a running server come from. Its functions may be called from any goroutine.
type Source struct {
	Stats func() server.Stats
	Peers func(room string) ([]server.PeerInfo, error)
	// Costs returns those of the open rooms, by Report.Name, and of all rooms that are over.
	Costs func() (open map[string]cost.Report, past cost.Report)
	// Clip returns a copy of an open room's last seconds.
	Clip func(ctx context.Context, room string) (travel.Source, error)
}

// Server is the admin server. Its state goes starting → ready → stopping, never back.
type Server struct {
	config Config
	pages  *page.Server
	source atomic.Pointer[Source] // nil: starting
	ending atomic.Bool
	since  time.Time
}

// scrapes bounds the metrics that are gathered at once.
const scrapes = 2

// New opens the socket. Nothing is answered before Serve, and little before Ready.
func New(c Config) (*Server, error) {
	if c.Game == nil {
		return nil, fmt.Errorf("%w: Game is nil: name the game", ErrConfig)
	}
	pages, err := page.New(c.Page)
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, pages: pages, since: time.Now()}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &metrics{server: s})
	pages.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: scrapes}))
	pages.HandlePublic("/healthz", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "alive") }))
	pages.HandlePublic("/readyz", http.HandlerFunc(s.readyz))
	pages.Handle("/debug/pprof/", http.HandlerFunc(pprof.Index))
	pages.Handle("/debug/pprof/cmdline", http.HandlerFunc(pprof.Cmdline))
	pages.Handle("/debug/pprof/symbol", http.HandlerFunc(pprof.Symbol))
	pages.Handle("/debug/pprof/profile", labelled(pprof.Profile))
	pages.Handle("/debug/pprof/trace", labelled(pprof.Trace))
	pages.Page("/debug/pprof/", within(profiles, "profiles"))
	pages.Page("/", within(live, "live"))
	pages.Handle("/live", page.Stream(s.watch))
	err = travelpage.Register(pages, "/last/", travelpage.Config{Game: c.Game, Open: s.last, Meter: c.Meter})
	if err != nil {
		return nil, errors.Join(err, pages.Close())
	}
	return s, nil
}

// within returns a directory of what is embedded.
func within(from fs.FS, dir string) fs.FS {
	files, err := fs.Sub(from, dir)
	if err != nil {
		panic(fmt.Sprintf("admin: the page %s is not embedded: %v", dir, err))
	}
	return files
}

// labelled has the samples of a profile say which phase and system they are of, while it is taken.
func labelled(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer cost.LabelSamples()()
		h(w, r)
	})
}

// clipPatience bounds how long a page waits for a room that computes no tick.
const clipPatience = 5 * time.Second

// last opens the last seconds of a room.
func (s *Server) last(ctx context.Context, room string) ([]travelpage.Match, error) {
	from := s.source.Load()
	if from == nil {
		return nil, errors.New("the server is not ready yet")
	}
	ctx, cancel := context.WithTimeout(ctx, clipPatience)
	defer cancel()
	clip, err := from.Clip(ctx, room)
	if err != nil {
		return nil, err
	}
	return []travelpage.Match{{Name: room, Source: clip}}, nil
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}

// Ready says that the server serves.
func (s *Server) Ready(from Source) { s.source.Store(&from) }

// Stopping says that it is to be sent nobody any more.
func (s *Server) Stopping() { s.ending.Store(true) }

// The states of a server.
const (
	starting = "starting"
	ready    = "ready"
	stopping = "stopping"
)

func (s *Server) state() string {
	switch {
	case s.ending.Load():
		return stopping
	case s.source.Load() == nil:
		return starting
	}
	return ready
}

func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	state := s.state()
	if state == ready {
		say(w, http.StatusOK, state)
		return
	}
	say(w, http.StatusServiceUnavailable, state)
}

// URL returns the live page's address.
func (s *Server) URL() string { return s.pages.URL() }

// Link returns the address that a person opens: with the token, if there is one.
func (s *Server) Link() string { return s.pages.Link("/") }

// Serve answers until the context is done.
func (s *Server) Serve(ctx context.Context) error { return s.pages.Serve(ctx) }

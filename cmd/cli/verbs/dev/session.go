package dev

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/tokens"
	"tendon/net/server"
	"tendon/net/simnet"
)

// usual is the network without flags.
var usual = simnet.Path{}

// session is a running match: its processes, and the build that they run. One goroutine uses it.
type session struct {
	app  *app.App
	verb *Verb

	builds, journals, clientDir, recordings string

	source  source
	files   files
	seen    map[string]stamp // at the last build
	current *build

	unlock    func() error // releases the directory; nil before it is locked
	events    chan event
	server    *process // nil: it has ended by itself
	clients   []*process
	addr      string
	listening bool      // the server that was started last listens
	recording string    // the file that it writes
	changed   time.Time // when the processes of the present build were started; zero: the match continues
}

// pollEvery is the time between two looks at the files. A build begins when two of them in a row see the same change, because
// an editor may write a file in pieces.
const pollEvery = 100 * time.Millisecond

// play rebuilds when a file is saved, until the context is done or the last window is closed.
func (s *session) play(ctx context.Context) error {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	last := s.seen
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-s.events:
			if s.handle(e); s.closed() {
				return nil
			}
		case <-poll.C:
			now := s.files.state()
			settled := maps.Equal(now, last)
			if last = now; settled && !maps.Equal(now, s.seen) {
				s.seen = now
				if err := s.change(ctx); err != nil && ctx.Err() == nil {
					return err
				}
			}
		}
	}
}

// closed reports whether all windows were closed.
func (s *session) closed() bool {
	for i, p := range s.clients {
		if i < s.verb.Windows && (s.verb.Headless || !p.gone()) {
			return false
		}
	}
	return s.verb.Windows > 0 && len(s.clients) > 0 && !s.verb.Headless
}

// gone reports whether a process has ended in order.
func (p *process) gone() bool {
	select {
	case <-p.ended:
		return p.failed == nil
	default:
		return false
	}
}

// change builds the program and continues the match with it. The present match goes on if the build is not used.
func (s *session) change(ctx context.Context) error {
	listed := make(chan files, 1)
	go func() { // the program may have other packages
		if list, err := s.source.list(ctx); err == nil {
			listed <- list
		}
		close(listed)
	}()
	b, err := s.build(ctx)
	if list, ok := <-listed; ok {
		s.watch(list)
	}
	switch {
	case ctx.Err() != nil: // Ctrl-C has ended the build
		return nil
	case errors.Is(err, errBuild):
		s.app.Logf("%v", err)
		s.app.Emit("refused", app.Fields{"error": err.Error()})
		return nil
	case err != nil:
		return err
	case b.Build == s.current.Build && s.server != nil:
		s.app.Logf("this build already runs")
		s.app.Emit("unchanged", app.Fields{"build": b.Build})
		return nil
	}
	before, recording := s.current, s.recording
	s.changed = time.Now()
	s.halt()
	s.current = b
	err = s.start(ctx, s.addr)
	if err != nil && ctx.Err() == nil {
		s.app.Logf("%v; the match goes on with the build before", err)
		s.app.Emit("refused", app.Fields{"error": err.Error()})
		s.halt()
		s.current = before
		return s.start(ctx, s.addr)
	}
	if recording != "" {
		s.app.Logf("the last 10 s again with these rules: %s replay %s --builds %s --redo --page", s.app.Program, app.Quoted(recording), app.Quoted(s.builds))
	}
	return err
}

// watch replaces the list of files. It keeps the stamps that the build has seen.
func (s *session) watch(list files) {
	s.files = list
	present := list.state()
	for path := range present {
		if at, known := s.seen[path]; known {
			present[path] = at
		}
	}
	s.seen = present
}

// halt stops the server, which keeps the match, and then the clients. They cannot leave the match any more.
func (s *session) halt() {
	if s.server != nil {
		s.stop(s.server)
	}
	s.stop(s.clients...)
	s.server, s.clients = nil, nil
}

// end stops the clients, which leave the match, and then the server.
func (s *session) end() {
	s.stop(s.clients...)
	if s.server != nil {
		s.stop(s.server)
	}
	s.server, s.clients = nil, nil
}

// start starts the server at an address, and the clients when it listens.
func (s *session) start(ctx context.Context, listen string) (err error) {
	args := []string{"serve", "--listen", listen, "--journal", s.journals, "--other-build", "change", "--quarantine=false", "--record", s.recordings,
		"--keep-seat", "1m", "--max-rooms", "1", "--pause", "players"}
	if s.verb.Seed != 0 {
		args = append(args, "--seed", fmt.Sprint(s.verb.Seed))
	}
	s.listening, s.recording = false, ""
	if s.server, err = s.run("server", append(args, strings.Fields(s.verb.CommandLine())...)...); err != nil {
		return err
	}
	for p := s.server; !s.listening; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-s.events:
			if s.handle(e); e.from == p && e.kind == exit {
				return errors.New("the server did not start")
			}
		}
	}
	for i := range s.verb.Windows + s.verb.Bots {
		p, err := s.join(i)
		if err != nil {
			return err
		}
		s.clients = append(s.clients, p)
	}
	return nil
}

// join starts the client of a seat. A client of an earlier build left its tokens, with which this one returns to the seat.
func (s *session) join(seat int) (*process, error) {
	name, isBot := fmt.Sprintf("player %d", seat+1), seat >= s.verb.Windows
	if isBot {
		name = fmt.Sprintf("bot %d", seat+1-s.verb.Windows)
	}
	log := filepath.Join(s.clientDir, fmt.Sprint(seat))
	token := log + ".first.token"
	if s.changed.IsZero() {
		key, err := server.LoadKey(filepath.Join(s.journals, "server.key"))
		if err != nil {
			return nil, err
		}
		to, err := tokens.Address(s.addr)
		if err != nil {
			return nil, err
		}
		text, err := tokens.Mint(s.app.Game.Name, key, to, server.Pass{Room: "main", Seat: seat}, 24*time.Hour)
		if err = cmp.Or(err, tokens.Write(token, text)); err != nil {
			return nil, err
		}
	}
	args := []string{"join", s.addr, "--token", "@" + token, "--log", log, "--name", name, "--desync-dir", filepath.Join(s.verb.Dir, "desyncs")}
	switch {
	case isBot:
		args = append(args, "--bot")
	case s.verb.Headless:
		args = append(args, "--headless")
	default:
		args = append(args, "--place", log+".place")
	}
	return s.run(name, append(args, s.verb.Arguments()...)...)
}

// handle handles an event of a process.
func (s *session) handle(e event) {
	var f struct {
		Public, File, Error, Panic string
		Room                       string
		Tick                       uint64
		Resumed                    bool
	}
	_ = json.Unmarshal(e.line, &f) // fields of other kinds are other types
	switch {
	case e.from != s.server && e.kind != exit && e.kind != "error":
	case e.kind == "listening":
		s.addr, s.listening = f.Public, true
	case e.kind == "recording":
		s.recording = f.File
	case e.kind == "journal" && f.Resumed && !s.changed.IsZero():
		took := time.Since(s.changed)
		s.changed = time.Time{}
		s.app.Logf("the match continues from tick %d with the new build: built in %.2f s, back after %.2f s", f.Tick, s.current.took.Seconds(), took.Seconds())
		s.app.Emit("changed", app.Fields{"tick": f.Tick, "build": s.current.Build, "build_ms": s.current.took.Milliseconds(), "back_ms": took.Milliseconds()})
	case e.kind == "error" || e.kind == "crash":
		if !e.from.over {
			s.app.Logf("%s: %s", e.from.name, cmp.Or(f.Error, f.Panic))
		}
	case e.kind == exit && e.from == s.server && !e.from.over:
		s.app.Logf("the server has ended: save a file to continue the match with a new build")
		s.app.Emit("ended", app.Fields{})
		s.server = nil
	}
}

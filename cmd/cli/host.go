package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"tendon/cmd/cli/journals"
	"tendon/cmd/cli/matches"
	"tendon/ecs"
	"tendon/net/cost"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/systems"
)

// host is a server that runs in this process. Parts that the config does not select are nil.
type host struct {
	*server.Server
	hostConfig
	addr      netip.AddrPort // under which clients reach it
	game      *ecs.Game
	costs     *costs
	cancel    context.CancelFunc
	ended     chan error
	checksums *checksumHistory // of every tick, for clients of this process
	files     *recorders
	recent    *recentTicks
	results   *matchKeeper
	replays   *adjudication // of matches that were recovered without a record
}

// hostConfig is the part of a host that a verb selects.
type hostConfig struct {
	strategy   systems.Strategy
	flags      string // of the strategy, as on the command line
	listen     string
	public     []netip.AddrPort
	key        netcode.Key
	previous   *netcode.Key // accepted as well, while the key is being changed; optional
	maxRooms   int
	workers    int
	seed       uint64          // 0: a random one for each room
	record     string          // directory for recordings; optional
	matches    string          // file of decided matches; optional
	journals   *journals.Store // optional
	logger     *slog.Logger
	socket     server.Socket  // optional
	compare    bool           // keep checksums for clients of this process
	recorder   *cost.Recorder // of slow ticks; optional
	desyncs    *desyncs       // optional
	keepRecent bool           // keep the last seconds of every room for an operator
}

// startHost opens a server and starts it.
func startHost(a *app, c hostConfig) (*host, error) {
	var err error
	h := &host{hostConfig: c, game: a.game, ended: make(chan error, 1), costs: newCosts(a.game, c.recorder)}
	if c.compare {
		h.checksums = newChecksumHistory(a.game)
	}
	if c.record != "" {
		h.files = newRecorders(a, &c)
	}
	if c.keepRecent {
		h.recent = &recentTicks{watches: map[string]*room.Watch{}}
	}
	keys := []netcode.Key{c.key}
	if c.previous != nil {
		keys = append(keys, *c.previous)
	}
	h.Server, err = server.New(server.Config{
		Room:      room.Config{Game: a.game, Strategy: c.strategy},
		OpenRoom:  h.openRoom,
		CloseRoom: h.closeRoom,
		Address:   c.listen, Socket: c.socket, Public: c.public, Keys: keys, MaxRooms: c.maxRooms, Workers: c.workers,
		Logger: c.logger,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	var resultsErr error
	if c.matches != "" { // before a room can decide a match
		h.results, resultsErr = keepMatches(a, c.matches)
	}
	if h.results != nil && h.journals != nil && a.game.Result != nil { // before a room can resume a match
		h.replays = adjudicate(a.game, h.journals.Waiting(), func(r matches.Record) { h.keepResult(r); h.results.wait() }) // one at a time
	}
	go func() { h.ended <- h.Run(ctx) }()
	if h.addr, err = h.publicAddr(); err == nil && c.record != "" {
		if err = writable(c.record); err != nil { // after the socket is open, so that a second server leaves no file behind
			err = fmt.Errorf("recordings cannot be written: %w; choose another --record", err)
		}
	}
	if err == nil {
		err = resultsErr
	}
	if err != nil {
		return nil, errors.Join(err, h.stop())
	}
	return h, nil
}

// publicAddr returns the address under which clients reach the server.
func (h *host) publicAddr() (netip.AddrPort, error) {
	if len(h.public) > 0 {
		return h.public[0], nil
	}
	addr, err := netip.ParseAddrPort(h.Addr().String())
	if err != nil {
		return addr, fmt.Errorf("the server's own address %v is not one: %w", h.Addr(), err)
	}
	return addr, nil
}

// openRoom adds the sinks of a room: first the journal, which may resume a match, then those that only read.
func (h *host) openRoom(name string, rc *room.Config) error {
	if h.seed != 0 {
		rc.Seed = h.seed
	}
	rc.Observer = h.costs.begin(name)
	if h.journals != nil {
		if err := h.journals.Open(name, rc); err != nil {
			return err
		}
	}
	if h.checksums != nil {
		rc.Sinks = append(rc.Sinks, h.checksums.sink())
	}
	var rec *recorder
	if h.files != nil {
		rec = h.files.start(name, rc)
	}
	if rec != nil {
		rc.Sinks = append(rc.Sinks, rec.sink())
	}
	if h.results != nil {
		d := decisions{host: h, name: name, strategy: h.strategy.Name, match: rc.Match, started: time.Now()}
		if rec != nil {
			d.recording = rec.path
		}
		if h.journals != nil {
			d.journal = h.journals.File(name)
		}
		rc.Sinks = append(rc.Sinks, d.sink(rc.Resume))
	}
	var watch *room.Watch // for the operator and for desync bundles
	if h.recent != nil || h.desyncs.writes() {
		var err error
		if watch, err = room.NewWatch(rc, buildString(), recentSeconds); err != nil {
			return err
		}
		rc.Sinks = append(rc.Sinks, watch.Sink())
	}
	h.recent.begin(name, watch)
	if h.desyncs != nil {
		rc.Sinks = append(rc.Sinks, h.desyncs.sink(name, watch))
	}
	return nil
}

// closeRoom ends the journal and the recording of a room. The results are written first, because the journal of a closed
// room is not read again.
func (h *host) closeRoom(name string, _ *room.Room) {
	h.costs.end(name)
	h.recent.end(name)
	if h.journals != nil {
		h.results.wait()
		h.journals.End(name)
	}
	if h.files != nil {
		h.files.end(name)
	}
}

// keepResult keeps a decided match, if matches are kept. Any goroutine may call it; it does not block.
func (h *host) keepResult(r matches.Record) {
	if h.results != nil {
		h.results.recorder.Add(r)
	}
}

// stop ends the server and the sessions of its clients. It may be called once.
func (h *host) stop() error {
	h.cancel()
	err := <-h.ended
	h.replays.close()
	h.desyncs.wait()
	if h.files != nil {
		err = errors.Join(err, h.files.verdict())
	}
	return errors.Join(err, h.results.close())
}

// ticket mints a token for this host.
func (h *host) ticket(to netip.AddrPort, pass server.Pass, life time.Duration) ([]byte, error) {
	return server.Mint(server.Ticket{ProtocolID: server.ProtocolID(h.game.Name), Key: h.key, Addresses: []netip.AddrPort{to},
		Pass: pass, Lifetime: life}, time.Now())
}

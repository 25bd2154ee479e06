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

// host is a server that runs in this process.
type host struct {
	*server.Server
	key       netcode.Key
	addr      netip.AddrPort // where clients find it
	game      *ecs.Game
	strategy  systems.Strategy
	checksums *checksumHistory // nil: clients do not compare
	recorders *recorders       // nil: no recordings
	journals  *journals.Store  // nil: no journals
	matches   *matchKeeper     // nil: decided matches are not kept
	replays   *adjudication    // nil: every recovered match has its record
	costs     *costs
	desyncs   *desyncs     // nil: nobody is told of desyncs
	recent    *recentTicks // nil: rooms are not watched
	cancel    context.CancelFunc
	ended     chan error
}

// hostConfig is what a verb chooses of a host.
type hostConfig struct {
	strategy systems.Strategy
	flags    string // of the strategy, as on the command line
	listen   string
	public   []netip.AddrPort
	key      netcode.Key
	previous *netcode.Key // accepted too, while the key is being changed
	maxRooms int
	workers  int
	seed     uint64          // 0: a random one for each room
	record   string          // directory for recordings; "": none
	matches  string          // file of decided matches; "": none
	journals *journals.Store // nil: no journals
	logger   *slog.Logger
	socket   server.Socket
	compare  bool           // keep checksums for clients of this process
	recorder *cost.Recorder // of slow ticks; nil: none
	desyncs  *desyncs       // nil: nobody is told of desyncs
	recent   bool           // keep the last seconds of every room, for an operator
}

// startHost opens a server and lets it run.
func startHost(a *app, c hostConfig) (*host, error) {
	var err error
	h := &host{key: c.key, game: a.game, strategy: c.strategy, ended: make(chan error, 1), costs: newCosts(a.game, c.recorder)}
	if c.compare {
		h.checksums = newChecksumHistory(a.game)
	}
	if c.record != "" {
		h.recorders = newRecorders(a, &c)
	}
	h.journals, h.desyncs = c.journals, c.desyncs
	if c.recent {
		h.recent = &recentTicks{watches: map[string]*room.Watch{}}
	}
	keys := []netcode.Key{c.key}
	if c.previous != nil {
		keys = append(keys, *c.previous)
	}
	h.Server, err = server.New(server.Config{
		Room:      room.Config{Game: a.game, Strategy: c.strategy},
		OpenRoom:  func(name string, rc *room.Config) error { return h.openRoom(c.seed, name, rc) },
		CloseRoom: h.closeRoom,
		Address:   c.listen, Socket: c.socket, Public: c.public, Keys: keys, MaxRooms: c.maxRooms, Workers: c.workers,
		Logger: c.logger,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	var unkept error
	if c.matches != "" { // before a room can decide a match
		h.matches, unkept = keepMatches(a, c.matches)
	}
	if h.matches != nil && h.journals != nil && a.game.Result != nil { // and before one is taken up
		h.replays = adjudicate(a.game, h.journals.Waiting(), func(r matches.Record) { h.record(r); h.matches.wait() }) // one at a time
	}
	go func() { h.ended <- h.Run(ctx) }()
	if h.addr, err = h.find(c.public); err == nil && c.record != "" {
		if err = writable(c.record); err != nil { // not before the socket is ours: who starts a server twice leaves nothing behind
			err = fmt.Errorf("recordings cannot be written: %w; choose another --record", err)
		}
	}
	if err == nil {
		err = unkept
	}
	if err != nil {
		return nil, errors.Join(err, h.stop())
	}
	return h, nil
}

// find returns the address under which clients find the server.
func (h *host) find(public []netip.AddrPort) (netip.AddrPort, error) {
	if len(public) > 0 {
		return public[0], nil
	}
	addr, err := netip.ParseAddrPort(h.Addr().String())
	if err != nil {
		return addr, fmt.Errorf("the server's own address %v is not one: %w", h.Addr(), err)
	}
	return addr, nil
}

// openRoom adds the sinks of a room: the journal, which may bring an old match along, then those that only read.
func (h *host) openRoom(seed uint64, name string, rc *room.Config) error {
	if seed != 0 {
		rc.Seed = seed
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
	if h.recorders != nil {
		rec = h.recorders.start(name, rc)
	}
	if rec != nil {
		rc.Sinks = append(rc.Sinks, rec.sink())
	}
	if h.matches != nil {
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

// closeRoom ends a room's journal and recording. The results are kept before: nobody looks for them in a journal of a
// match that is over.
func (h *host) closeRoom(name string, _ *room.Room) {
	h.costs.end(name)
	h.recent.end(name)
	if h.journals != nil {
		h.matches.wait()
		h.journals.End(name)
	}
	if h.recorders != nil {
		h.recorders.end(name)
	}
}

// record keeps a decided match, if matches are kept. It may be called by any room's goroutine and never waits.
func (h *host) record(r matches.Record) {
	if h.matches != nil {
		h.matches.recorder.Add(r)
	}
}

// stop ends the server, which tells its clients. It may be called once.
func (h *host) stop() error {
	h.cancel()
	err := <-h.ended
	h.replays.close()
	h.desyncs.wait()
	if h.recorders != nil {
		err = errors.Join(err, h.recorders.verdict())
	}
	return errors.Join(err, h.matches.close())
}

// ticket mints a token for this host.
func (h *host) ticket(to netip.AddrPort, pass server.Pass, life time.Duration) ([]byte, error) {
	return server.Mint(server.Ticket{ProtocolID: server.ProtocolID(h.game.Name), Key: h.key, Addresses: []netip.AddrPort{to},
		Pass: pass, Lifetime: life}, time.Now())
}

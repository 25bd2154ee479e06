// Package host runs a server in this process, with the recordings, journals, records of matches and desync bundles that the
// flags of a verb select.
package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/journals"
	"tendon/cmd/cli/matches"
	"tendon/ecs"
	"tendon/net/cost"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/systems"
)

// Host is a server that runs in this process. Parts that the config does not select are nil.
type Host struct {
	*server.Server
	Config
	PublicAddr netip.AddrPort // under which clients reach it
	Game       *ecs.Game
	Costs      *Costs
	cancel     context.CancelFunc
	ended      chan error
	Checksums  *ChecksumHistory // of every tick, for clients of this process
	files      *recorders
	Recent     *recentTicks
	results    *matchKeeper
	replays    *adjudication // of matches that were recovered without a record
}

// Config is the part of a host that a verb selects.
type Config struct {
	Strategy   systems.Strategy
	Flags      string // of the strategy, as on the command line
	Listen     string
	Public     []netip.AddrPort
	Key        netcode.Key
	Previous   *netcode.Key // accepted as well, while the key is being changed; optional
	MaxRooms   int
	Workers    int
	Seed       uint64          // 0: a random one for each room
	Record     string          // directory for recordings; optional
	Matches    string          // file of decided matches; optional
	Journals   *journals.Store // optional
	Logger     *slog.Logger
	Socket     server.Socket  // optional
	Compare    bool           // keep checksums for clients of this process
	Recorder   *cost.Recorder // of slow ticks; optional
	Desyncs    *Desyncs       // optional
	KeepRecent bool           // keep the last seconds of every room for an operator
}

// Start opens a server and starts it.
func Start(a *app.App, c Config) (*Host, error) {
	var err error
	h := &Host{Config: c, Game: a.Game, ended: make(chan error, 1), Costs: newCosts(a.Game, c.Recorder)}
	if c.Compare {
		h.Checksums = newChecksumHistory(a.Game)
	}
	if c.Record != "" {
		h.files = newRecorders(a, &c)
	}
	if c.KeepRecent {
		h.Recent = &recentTicks{watches: map[string]*room.Watch{}}
	}
	keys := []netcode.Key{c.Key}
	if c.Previous != nil {
		keys = append(keys, *c.Previous)
	}
	h.Server, err = server.New(server.Config{
		Room:      room.Config{Game: a.Game, Strategy: c.Strategy},
		OpenRoom:  h.openRoom,
		CloseRoom: h.closeRoom,
		Address:   c.Listen, Socket: c.Socket, Public: c.Public, Keys: keys, MaxRooms: c.MaxRooms, Workers: c.Workers,
		Logger: c.Logger,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	var resultsErr error
	if c.Matches != "" { // before a room can decide a match
		h.results, resultsErr = keepMatches(a, c.Matches)
	}
	if h.results != nil && h.Journals != nil && a.Game.Result != nil { // before a room can resume a match
		h.replays = adjudicate(a.Game, h.Journals.Waiting(), func(r matches.Record) { h.KeepResult(r); h.results.wait() }) // one at a time
	}
	go func() { h.ended <- h.Run(ctx) }()
	if h.PublicAddr, err = h.publicAddr(); err == nil && c.Record != "" {
		if err = app.Writable(c.Record); err != nil { // after the socket is open, so that a second server leaves no file behind
			err = fmt.Errorf("recordings cannot be written: %w; choose another --record", err)
		}
	}
	if err == nil {
		err = resultsErr
	}
	if err != nil {
		return nil, errors.Join(err, h.Stop())
	}
	return h, nil
}

// publicAddr returns the address under which clients reach the server.
func (h *Host) publicAddr() (netip.AddrPort, error) {
	if len(h.Public) > 0 {
		return h.Public[0], nil
	}
	addr, err := netip.ParseAddrPort(h.Addr().String())
	if err != nil {
		return addr, fmt.Errorf("the server's own address %v is not one: %w", h.Addr(), err)
	}
	return addr, nil
}

// openRoom adds the sinks of a room: first the journal, which may resume a match, then those that only read.
func (h *Host) openRoom(name string, rc *room.Config) error {
	if h.Seed != 0 {
		rc.Seed = h.Seed
	}
	rc.Observer = h.Costs.begin(name)
	if h.Journals != nil {
		if err := h.Journals.Open(name, rc); err != nil {
			return err
		}
	}
	if h.Checksums != nil {
		rc.Sinks = append(rc.Sinks, h.Checksums.sink())
	}
	var rec *recorder
	if h.files != nil {
		rec = h.files.start(name, rc)
	}
	if rec != nil {
		rc.Sinks = append(rc.Sinks, rec.sink())
	}
	if h.results != nil {
		d := decisions{host: h, name: name, strategy: h.Strategy.Name, match: rc.Match, started: time.Now()}
		if rec != nil {
			d.recording = rec.path
		}
		if h.Journals != nil {
			d.journal = h.Journals.File(name)
		}
		rc.Sinks = append(rc.Sinks, d.sink(rc.Resume))
	}
	var watch *room.Watch // for the operator and for desync bundles
	if h.Recent != nil || h.Desyncs.writes() {
		var err error
		if watch, err = room.NewWatch(rc, app.Build(), recentSeconds); err != nil {
			return err
		}
		rc.Sinks = append(rc.Sinks, watch.Sink())
	}
	h.Recent.begin(name, watch)
	if h.Desyncs != nil {
		rc.Sinks = append(rc.Sinks, h.Desyncs.sink(name, watch))
	}
	return nil
}

// closeRoom ends the journal and the recording of a room. The results are written first, because the journal of a closed
// room is not read again.
func (h *Host) closeRoom(name string, _ *room.Room) {
	h.Costs.end(name)
	h.Recent.end(name)
	if h.Journals != nil {
		h.results.wait()
		h.Journals.End(name)
	}
	if h.files != nil {
		h.files.end(name)
	}
}

// KeepResult keeps a decided match, if matches are kept. Any goroutine may call it; it does not block.
func (h *Host) KeepResult(r matches.Record) {
	if h.results != nil {
		h.results.recorder.Add(r)
	}
}

// Stop ends the server and the sessions of its clients. It may be called once.
func (h *Host) Stop() error {
	h.cancel()
	err := <-h.ended
	h.replays.close()
	h.Desyncs.Wait()
	if h.files != nil {
		err = errors.Join(err, h.files.verdict())
	}
	return errors.Join(err, h.results.close())
}

// Ticket mints a token for this host.
func (h *Host) Ticket(to netip.AddrPort, pass server.Pass, life time.Duration) ([]byte, error) {
	return server.Mint(server.Ticket{ProtocolID: server.ProtocolID(h.Game.Name), Key: h.Key, Addresses: []netip.AddrPort{to},
		Pass: pass, Lifetime: life}, time.Now())
}

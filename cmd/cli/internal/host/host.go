// Package host runs a server in this process, with the recordings, journals, records of matches and desync bundles that the
// flags of a verb select.
package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/cmd/cli/internal/tokens"
	"tendon/cmd/cli/journals"
	"tendon/cmd/cli/matches"
	"tendon/ecs"
	"tendon/net/broadcast"
	"tendon/net/client"
	"tendon/net/cost"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/net/session"
	"tendon/rollback/record"
	"tendon/systems"
)

// Flags are those of every verb that runs a server.
type Flags struct {
	syncflags.Flags `embed:""`
	DiagnosticFlags `embed:""`

	Record string `type:"path" help:"Record every match into this directory; replay opens it."`
}

// ServerStrategy returns the strategy of the flags. It fails if --record is set and a match of that strategy cannot be
// recorded.
func (f *Flags) ServerStrategy(g *ecs.Game) (systems.Strategy, error) {
	s, err := f.Strategy(g)
	if err == nil && f.RelayOnly && f.Record != "" {
		err = errors.New("--relay-only and --record do not go together: a recording holds the checksum of every state, so the server has to simulate; --journal of serve keeps the inputs")
	}
	return s, err
}

// Config is the part of a host that a verb selects.
type Config struct {
	server.Config // without OpenRoom, CloseRoom and all of Room but KeepSeat; tokens are minted with the first key; no Keys: a random one
	Flags         *Flags
	Strategy      systems.Strategy
	Seed          uint64          // 0: a random one for each room
	Pause         room.PauseRule  // of every room
	Matches       string          // file of decided matches; optional
	Stream        matches.Stream  // of decided matches, in a cluster; optional
	Journals      *journals.Store // optional
	Cluster       *Cluster        // set by JoinCluster; optional
	Compare       bool            // keep checksums for clients of this process
	Watched       bool            // for an operator: keep the last seconds of every room, and account the bytes of its messages
	Broadcast     *Broadcast      // of every room; optional
	Crash         func()          // called when the only open room has crashed: Stop then fails. Optional: the server continues

	historyKey []byte // room.Config.HistoryKey of rooms whose journals may lose ticks
}

// Host is a server that runs in this process. Parts that the config does not select are nil.
type Host struct {
	*server.Server
	*Diagnostics
	PublicAddr netip.AddrPort    // under which clients reach it
	Checksums  *ChecksumHistory  // of every tick, for clients of this process
	Results    *matches.Recorder // of decided matches
	config     Config
	app        *app.App
	cancel     context.CancelFunc
	ended      chan error
	endResults func() error

	recordings  sync.WaitGroup  // that are being closed
	replays     sync.WaitGroup  // of recovered matches
	replaying   context.Context // done after stopReplays
	stopReplays context.CancelFunc
	replay      sync.Mutex // held during a replay

	mu       sync.Mutex // rooms open and close on several goroutines
	rooms    map[string]*hostedRoom
	past     *cost.Ledger             // of all closed rooms
	recorded string                   // file of the first recording
	ending   map[string]chan struct{} // broadcasts of closed rooms, by room, whose files are still written
	broken   int                      // recordings without an end mark
	crash    error                    // of a room; nil without Config.Crash
	kept     []<-chan struct{}        // of Journals.Keep
	decided  map[uint64]ecs.Tick      // the last result of each replayed match before it continued, by match; 0: none
}

// hostedRoom is what a host keeps about an open room.
type hostedRoom struct {
	ledger    *cost.Ledger
	recent    *record.History   // last seconds, for the operator and for desync bundles; optional
	recording *recorder         // optional
	broadcast *broadcast.Writer // optional
	decisions decisions
	resumed   bool        // the match was begun by an earlier process
	panicked  bool        // its rules have panicked
	replays   atomic.Bool // results of its former owner are not recorded yet
}

const recentSeconds = 10 // the length of the history of a room

// Start opens a server and starts it.
func Start(a *app.App, c Config) (*Host, error) {
	if len(c.Keys) == 0 {
		c.Keys = make([]netcode.Key, 1)
		rand.Read(c.Keys[0][:]) // never fails
	}
	h := &Host{config: c, app: a, ended: make(chan error, 1), rooms: map[string]*hostedRoom{}, ending: map[string]chan struct{}{}, decided: map[uint64]ecs.Tick{}, past: newLedger(a.Game, "server", nil, c.Watched)}
	if c.Compare {
		h.Checksums = newChecksumHistory(a.Game)
	}
	var err error
	if h.Diagnostics, err = c.Flags.Diagnostics(a, c.Strategy); err != nil {
		return nil, err
	}
	c.Room, c.OpenRoom, c.CloseRoom = room.Config{Game: a.Game, Strategy: c.Strategy, Strategies: syncflags.All, Pause: c.Pause, KeepSeat: c.Room.KeepSeat}, h.openRoom, h.closeRoom
	c.Crashed = h.crashed
	c.Expelled = func(b server.Ban) { reportExpelled(a, b) }
	c.Lagged = func(l server.Lag) { reportLag(a, l) }
	if h.Server, err = server.New(c.Config); err != nil {
		h.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	h.replaying, h.stopReplays = context.WithCancel(context.Background())
	err = h.keepResults()  // before a room can decide a match
	if c.Journals != nil { // before a room can resume a match
		h.adjudicate(c.Journals.Waiting(), func() {})
	}
	if c.Cluster != nil {
		c.Cluster.start(h)
	}
	go func() { h.ended <- h.Run(ctx) }()
	if err == nil && c.Flags.Record != "" {
		if err = app.Writable(c.Flags.Record); err != nil { // after the socket is open, so that a second server leaves no file behind
			err = fmt.Errorf("recordings cannot be written: %w; choose another --record", err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, h.Stop())
	}
	h.PublicAddr = netip.MustParseAddrPort(h.Addr().String())
	if len(c.Public) > 0 {
		h.PublicAddr = c.Public[0]
	}
	return h, nil
}

// openRoom adds the sinks of a room: first the journal, which may resume a match, then those that only read.
func (h *Host) openRoom(name string, rc *room.Config) error {
	c, r := &h.config, &hostedRoom{ledger: newLedger(h.app.Game, "room "+name, h.Recorder, h.config.Watched)}
	if c.Seed != 0 {
		rc.Seed = c.Seed
	}
	rc.Observer, rc.HistoryKey = r.ledger, c.historyKey
	d := &r.decisions
	*d = decisions{results: h.Results, game: h.app.Game, record: matches.Record{Room: name, Game: h.app.Game.Name, Strategy: c.Strategy.Name,
		Started: time.Now()}, previous: h.decidedLast}
	if c.Cluster != nil {
		if err := c.Cluster.elsewhere(name); err != nil {
			return err
		}
	}
	if c.Journals != nil {
		switch err := c.Journals.Open(name, rc); {
		case err != nil && c.Cluster != nil:
			return c.Cluster.refusal(err)
		case errors.Is(err, journals.ErrOtherBuild):
			return &session.Error{Code: session.CodeOtherBuild}
		case err != nil:
			return err
		}
		if rc.Resume != nil {
			r.resumed = true
			if rc.Resume.Wait == 0 { // otherwise the match waits for a moment only
				h.reportWait(name, rc.Resume)
			}
			if m, ok := c.Journals.Continued(name); ok {
				if h.Results != nil {
					d.continues(m.Journal)
				}
				if c.Cluster != nil { // those of files were replayed at the start
					r.replays.Store(true)
					h.adjudicate([]journals.Match{m}, func() { r.replays.Store(false) })
				}
			}
		}
		d.record.Journal = c.Journals.File(name)
	}
	if h.Checksums != nil {
		rc.Sinks = append(rc.Sinks, h.Checksums.sink())
	}
	if c.Flags.Record != "" {
		if r.recording = h.startRecording(name, rc); r.recording != nil {
			rc.Sinks = append(rc.Sinks, room.Sink{Tick: r.recording.tick, NeedState: true})
			d.record.Recording = r.recording.file.name
		}
	}
	if c.Broadcast != nil {
		r.broadcast = h.startBroadcast(name, rc)
	}
	if h.Results != nil {
		d.record.Match = rc.Match
		rc.Sinks = append(rc.Sinks, d.sink(rc.Resume))
	}
	if c.Watched || h.DesyncDir != "" {
		r.recent = record.NewHistory(rc.Game, record.HeaderOf(rc.Game, rc.Seed, app.Build()), recentSeconds*rc.Game.TickRate)
		rc.Sinks = append(rc.Sinks, room.Sink{Tick: func(f systems.FinalTick) { r.recent.Add(f.Recorded(), f.World) }})
	}
	rc.Sinks = append(rc.Sinks, h.desyncSink(name, r.recent))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rooms[name] = r
	return nil
}

// closeRoom ends or keeps the journal of a room, and ends its recording, without waiting for the disk. The results are written
// first, because the journal of a match that is over is not read again.
func (h *Host) closeRoom(name string, closed *room.Room) {
	h.mu.Lock()
	r := h.rooms[name]
	delete(h.rooms, name)
	h.past.Merge(r.ledger)
	h.mu.Unlock()
	over := true
	keep := func(world *ecs.World) {
		over = false
		kept := h.config.Journals.Keep(name, world)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.kept = append(h.kept, kept)
	}
	if h.config.Journals != nil {
		switch {
		case closed != nil && closed.Suspended():
			keep(closed.World())
		case r.panicked && h.config.Journals.ChangesRules(): // the rules of the next build may not panic
			keep(nil)
		case closed == nil && r.resumed: // no client waits for the room, or the server stops
			keep(nil)
		default:
			h.config.Journals.End(name, h.awaitResults)
		}
	}
	if over || h.config.Cluster != nil { // otherwise this process may continue the match without another replay
		h.mu.Lock()
		delete(h.decided, r.decisions.record.Match)
		h.mu.Unlock()
	}
	if r.recording != nil {
		h.recordings.Go(r.recording.close)
	}
	if r.broadcast != nil {
		h.endBroadcast(name, r.broadcast.Close(over))
	}
}

// diskLimit bounds each wait for files at the end of a room or of the server.
const diskLimit = 10 * time.Second

// awaitResults waits until the decided matches are stored.
func (h *Host) awaitResults() {
	if h.Results != nil {
		ctx, cancel := context.WithTimeout(context.Background(), diskLimit)
		defer cancel()
		_ = h.Results.Wait(ctx) // Close reports records that are not stored
	}
}

// within waits for the end of f, at most a time, and reports whether it ended.
func within(limit time.Duration, f func()) bool {
	ended := make(chan struct{})
	go func() { f(); close(ended) }()
	select {
	case <-ended:
		return true
	case <-time.After(limit):
		return false
	}
}

// Kept returns how many matches the next process continues. Call it after Stop. It waits for the disk, at most diskLimit.
func (h *Host) Kept() int {
	within(diskLimit, func() {
		for _, kept := range h.kept {
			<-kept
		}
	})
	return h.config.Journals.Kept()
}

// Costs returns the costs of the open rooms by name, at most about a second old, and of all closed rooms. Each room is in one
// of them. Any goroutine may call it; it does not block rooms.
func (h *Host) Costs() (open map[string]cost.Report, past cost.Report) {
	h.mu.Lock()
	rooms, past := maps.Clone(h.rooms), h.past.Report()
	h.mu.Unlock()
	open = make(map[string]cost.Report, len(rooms))
	for name, r := range rooms {
		open[name] = r.ledger.Latest()
	}
	return open, past
}

// Recent returns the last seconds of an open room. The config must have Watched.
func (h *Host) Recent(ctx context.Context, name string) (*record.Record, error) {
	var last atomic.Pointer[record.Record] // may be set after ctx is done
	err := h.Do(ctx, name, func(*room.Room) {
		h.mu.Lock()
		r := h.rooms[name]
		h.mu.Unlock()
		if r != nil {
			last.Store(r.recent.Record())
		}
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %s", err, name)
	case last.Load() == nil:
		return nil, errors.New("nothing of the match is kept yet: ask again in a second")
	}
	return last.Load(), nil
}

// Stop stops the server as Config.OnStop selects, and returns when it has ended. It may be called once.
func (h *Host) Stop() error {
	h.cancel()
	err := <-h.ended
	h.mu.Lock()
	h.stopReplays() // adjudicate begins none any more
	h.mu.Unlock()
	h.replays.Wait()
	if !within(diskLimit, func() { h.recordings.Wait(); h.Close() }) {
		err = errors.Join(err, errors.New("the disk of the recordings or diagnostics does not answer: their last files are not whole"))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	err = errors.Join(err, h.crash)
	if h.broken > 0 {
		err = errors.Join(err, fmt.Errorf("the end of %s in %s is missing: free space on the disk or choose another --record", app.Counted(h.broken, "recording", "recordings"), h.config.Flags.Record))
	}
	if h.Results != nil {
		err = errors.Join(err, h.endResults())
	}
	return err
}

// Token mints a token of a day for this host. to is the address of the server or of a proxy before it.
func (h *Host) Token(to netip.AddrPort, p server.Pass) ([]byte, error) {
	return tokens.Mint(h.app.Game.Name, h.config.Keys[0], to, p, 24*time.Hour)
}

// Dial returns a client for a seat of a room of this host.
func (h *Host) Dial(to netip.AddrPort, room string, seat int, c client.Config) (*client.Client, error) {
	token, err := h.Token(to, server.Pass{Room: room, Seat: seat, Bot: c.Bot})
	if err != nil {
		return nil, err
	}
	c.Game, c.Strategies, c.Desynced = h.app.Game, syncflags.All, h.Desynced
	return client.Dial(client.DialConfig{Token: token, Config: c})
}

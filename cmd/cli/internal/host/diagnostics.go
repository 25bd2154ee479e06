package host

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/cost"
	"tendon/net/room"
	"tendon/rollback/record"
	"tendon/rollback/record/bundle"
	"tendon/systems"
)

// DiagnosticFlags choose the directories of files about slow ticks and desyncs.
type DiagnosticFlags struct {
	SlowDir   string `type:"path" help:"Write a trace of the last seconds and a table of costs into this directory when a tick exceeds its budget. At most 8 per run, one in 10 s. New files replace the oldest of previous runs."`
	DesyncDir string `type:"path" help:"If a state differs, write a bundle of both states and the ticks that led there into this directory, at most 16, one in 10 s. replay opens them."`
}

// Diagnostics writes files about slow ticks, and a bundle for each desync that clients and rooms of this process find. Number
// and rate of bundles are bounded, so that a client that differs again and again does not fill the disk. It may be called on
// any goroutine and does not wait for the disk.
type Diagnostics struct {
	DiagnosticFlags
	Recorder *cost.Recorder // of slow ticks; nil without --slow-dir
	app      *app.App
	settings []bundle.Setting // without the strategy's name

	mu      sync.Mutex
	left    int
	last    map[bundle.Side]time.Time
	hinted  bool // the flag was named
	writing sync.WaitGroup
}

const (
	mostBundles    = 16
	bundleInterval = 10 * time.Second
)

// Diagnostics checks the directories and starts the flight recorder of slow ticks. s is empty for a client, which receives
// the strategy from the server.
func (f DiagnosticFlags) Diagnostics(a *app.App, s systems.Strategy) (d *Diagnostics, err error) {
	d = &Diagnostics{DiagnosticFlags: f, app: a, left: mostBundles, last: map[bundle.Side]time.Time{},
		settings: []bundle.Setting{{Name: "build", Value: app.Build()}, {Name: "tick rate", Value: strconv.Itoa(a.Game.TickRate)}}}
	if s.Name != "" {
		d.settings = append(d.settings, bundle.Setting{Name: "params", Value: fmt.Sprintf("%x", s.Params)})
	}
	if f.DesyncDir != "" {
		if err := app.Writable(f.DesyncDir); err != nil {
			return nil, fmt.Errorf("desync bundles cannot be written: %w; choose another --desync-dir", err)
		}
	}
	if f.SlowDir != "" {
		if d.Recorder, err = cost.NewRecorder(f.SlowDir, d.slow); err != nil {
			return nil, fmt.Errorf("slow ticks cannot be recorded: %w; choose another --slow-dir", err)
		}
	}
	return d, nil
}

func (d *Diagnostics) slow(r cost.Recording) {
	f := app.Fields{"of": r.Name, "tick": r.Turn.Tick, "ms": float64(r.Turn.Cost) / 1e6, "budget_ms": float64(r.Budget) / 1e6, "trace": r.Trace, "table": r.Table}
	text := fmt.Sprintf("%s: tick %d took %v of %v; the trace before it is %s, for go tool trace, its costs are in %s", r.Name, r.Turn.Tick,
		r.Turn.Cost.Round(10*time.Microsecond), r.Budget.Round(10*time.Microsecond), r.Trace, r.Table)
	if r.Err != nil {
		f["error"] = r.Err.Error()
		text = fmt.Sprintf("%s: tick %d took %v, and it cannot be recorded: %v", r.Name, r.Turn.Tick, r.Turn.Cost, r.Err)
	}
	d.app.Emit("slow", f)
	d.app.Logf("%s", text)
}

// Desynced receives the desyncs of a client in this process.
func (d *Diagnostics) Desynced(c client.Desync) {
	if c.Mine == nil || !d.due(bundle.Client, fmt.Sprintf("this copy of the match differed from the server's: %v", c.Difference)) {
		return
	}
	d.write(&bundle.Bundle{Tick: c.Difference.Tick, By: bundle.Client, Peer: seatName(c.Seat), Here: c.Mine, There: c.Theirs}, "seat",
		c.Strategy)
}

// desyncSink receives the desyncs of a room, whose last seconds are in recent. Without --desync-dir recent is not used.
func (d *Diagnostics) desyncSink(name string, recent *record.History) room.Sink {
	return room.Sink{Desync: func(r room.Desync) {
		if !d.due(bundle.Server, fmt.Sprintf("%s in room %s has another state than the server", seatName(r.Seat), name)) {
			return
		}
		var state image.Snapshot
		r.World.Image().Save(&state)
		here := recent.RecordTo(&state)
		state.Release()
		d.write(&bundle.Bundle{Tick: here.Last().Tick, By: bundle.Server, Peer: seatName(r.Seat), Claimed: r.Differed, Claim: r.Claim,
			Here: here}, name, r.Strategy)
	}}
}

func seatName(seat int) string {
	if seat < 0 {
		return "a spectator"
	}
	return fmt.Sprintf("seat %d", seat)
}

// due prints the desync, and reports whether its bundle is to be written.
func (d *Diagnostics) due(by bundle.Side, text string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.DesyncDir == "" {
		if !d.hinted {
			d.hinted = true
			d.app.Logf("%s; to have a bundle for finding out why, run with --desync-dir DIR", text)
		}
		return false
	}
	now := time.Now()
	if d.left == 0 || now.Sub(d.last[by]) < bundleInterval {
		return false
	}
	d.left--
	d.last[by] = now
	d.app.Logf("%s", text)
	return true
}

func (d *Diagnostics) write(b *bundle.Bundle, of, strategy string) {
	b.Settings = append(slices.Clip(d.settings), bundle.Setting{Name: "sync", Value: strategy})
	d.writing.Go(func() {
		path, err := d.create(b, of)
		if err != nil {
			d.app.Logf("the desync bundle cannot be written: %v", err)
			d.app.Emit("desync_failed", app.Fields{"error": err.Error()})
			return
		}
		d.app.Logf("the desync bundle is %s; open it with replay", path)
		d.app.Emit("desync_bundle", app.Fields{"file": path, "by": b.By, "tick": b.Tick})
	})
}

func (d *Diagnostics) create(b *bundle.Bundle, of string) (path string, err error) {
	data, err := b.Append(nil)
	if err != nil {
		return "", err
	}
	f, err := createFile(d.DesyncDir, fmt.Sprintf("desync-%s-%s-%d-%s", b.By, of, b.Tick, timestamp()), ".tendondesync", 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	return f.Name(), errors.Join(err, f.Close())
}

// Close waits until every file is written.
func (d *Diagnostics) Close() {
	d.writing.Wait()
	if d.Recorder != nil {
		d.Recorder.Close()
	}
}

// NewLedger returns a ledger for a room or a client of a valid game. recorder is optional.
func NewLedger(game *ecs.Game, name string, recorder *cost.Recorder) *cost.Ledger {
	return newLedger(game, name, recorder, false)
}

func newLedger(game *ecs.Game, name string, recorder *cost.Recorder, bytes bool) *cost.Ledger {
	// One digit, an error of at most 7 %, since there may be hundreds.
	l, err := cost.New(cost.Config{Game: game, Name: name, Digits: 1, Recorder: recorder, Bytes: bytes})
	if err != nil {
		panic(fmt.Sprintf("cli: the ledger of a valid game: %v", err))
	}
	return l
}

// PrintCosts prints the costs of each report that has turns.
func PrintCosts(a *app.App, reports ...cost.Report) {
	for i := range reports {
		if r := &reports[i]; r.Turns > 0 {
			a.Print(app.Wrapped("costs of the "+r.Line()) + "\n")
		}
	}
}

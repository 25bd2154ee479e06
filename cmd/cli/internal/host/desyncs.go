package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/room"
	"tendon/rollback/record/bundle"
	"tendon/systems"
)

// DesyncFlags choose the directory of desync bundles.
type DesyncFlags struct {
	DesyncDir string `type:"path" help:"If a state differs, write a bundle of both states and the ticks that led there into this directory, at most 16, one in 10 s. replay opens them."`
}

// Desyncs writes a bundle for each desync that clients and rooms of this process find. Number and rate are bounded, so that
// a client that differs again and again does not fill the disk. It may be called on any goroutine and does not wait for the
// disk.
type Desyncs struct {
	app      *app.App
	dir      string // "": none are written
	settings []bundle.Setting
	serves   bool // this process chose the strategy, which is in settings

	mu      sync.Mutex
	left    int
	last    map[bundle.Side]time.Time
	hinted  bool // the flag was named
	writing sync.WaitGroup
}

const (
	mostBundles    = 16
	bundleInterval = 10 * time.Second
	bundleSuffix   = ".tendondesync"
)

// OpenDesyncs returns the writer of bundles. s is empty for a client, which receives the strategy from the server.
func (f *DesyncFlags) OpenDesyncs(a *app.App, s systems.Strategy) (*Desyncs, error) {
	d := &Desyncs{app: a, dir: f.DesyncDir, left: mostBundles, last: map[bundle.Side]time.Time{}}
	d.settings = append(d.settings, bundle.Setting{Name: "build", Value: app.Build()}, bundle.Setting{Name: "tick rate", Value: strconv.Itoa(a.Game.TickRate)})
	if d.serves = s.Name != ""; d.serves {
		d.settings = append(d.settings, bundle.Setting{Name: "params", Value: fmt.Sprintf("%x", s.Params)}, bundle.Setting{Name: "sync", Value: s.Name})
	}
	if d.dir == "" {
		return d, nil
	}
	if err := app.Writable(d.dir); err != nil {
		return nil, fmt.Errorf("desync bundles cannot be written: %w; choose another --desync-dir", err)
	}
	return d, nil
}

// Client receives the desyncs of a client in this process.
func (d *Desyncs) Client(c client.Desync) {
	if c.Mine == nil || !d.due(bundle.Client, fmt.Sprintf("this copy of the match differed from the server's: %v", c.Difference)) {
		return
	}
	settings := d.settings
	if !d.serves {
		settings = append(settings[:len(settings):len(settings)], bundle.Setting{Name: "sync", Value: c.Strategy})
	}
	d.write(&bundle.Bundle{Tick: c.Difference.Tick, By: bundle.Client, Peer: seatName(c.Seat), Settings: settings, Here: c.Mine, There: c.Theirs}, "seat")
}

// writes reports whether bundles are written. d may be nil.
func (d *Desyncs) writes() bool { return d != nil && d.dir != "" }

// sink returns the writer as a sink of a room, whose last seconds are in watch; watch is nil if no bundles are written.
func (d *Desyncs) sink(name string, watch *room.Watch) room.Sink {
	return room.Sink{Desync: func(r room.Desync) {
		if !d.due(bundle.Server, fmt.Sprintf("%s in room %s has another state than the server", seatName(r.Seat), name)) {
			return
		}
		var state image.Snapshot
		r.World.Image().Save(&state)
		here := watch.History().RecordTo(&state)
		state.Release()
		d.write(&bundle.Bundle{Tick: here.Last().Tick, By: bundle.Server, Peer: seatName(r.Seat), Claimed: r.Differed, Claim: r.Claim, Settings: d.settings, Here: here}, name)
	}}
}

func seatName(seat int) string {
	if seat < 0 {
		return "a spectator"
	}
	return fmt.Sprintf("seat %d", seat)
}

// due prints the desync, and reports whether its bundle is to be written.
func (d *Desyncs) due(by bundle.Side, what string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.writes() {
		if !d.hinted {
			d.hinted = true
			d.app.Logf("%s; to have a bundle for finding out why, run with --desync-dir DIR", what)
		}
		return false
	}
	now := time.Now()
	if d.left == 0 || now.Sub(d.last[by]) < bundleInterval && !d.last[by].IsZero() {
		return false
	}
	d.left--
	d.last[by] = now
	d.app.Logf("%s", what)
	return true
}

// write writes a bundle on a goroutine of its own.
func (d *Desyncs) write(b *bundle.Bundle, of string) {
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

// create writes a bundle into a new file.
func (d *Desyncs) create(b *bundle.Bundle, of string) (string, error) {
	data, err := b.Append(nil)
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("desync-%s-%s-%d-%s", b.By, of, b.Tick, time.Now().UTC().Format("20060102T150405"))
	for n := 1; ; n++ {
		path := filepath.Join(d.dir, name+bundleSuffix)
		if n > 1 {
			path = filepath.Join(d.dir, fmt.Sprintf("%s.%d%s", name, n, bundleSuffix))
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(data)
		return path, errors.Join(err, f.Close())
	}
}

// Wait waits until every bundle is written. d may be nil.
func (d *Desyncs) Wait() {
	if d != nil {
		d.writing.Wait()
	}
}

package host

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/room"
	"tendon/rollback"
	"tendon/rollback/record"
	"tendon/systems"
)

// recorder writes one match. It belongs to its room's goroutine, which does not wait for the disk. A recording that cannot be
// written is reported once and ended; the match continues.
type recorder struct {
	host   *Host
	file   *backgroundFile
	writer *record.Writer
	broken bool
}

func (h *Host) startRecording(roomName string, c *room.Config) *recorder {
	f, err := createFile(h.config.Flags.Record, fmt.Sprintf("%s-%s-%016x", roomName, timestamp(), c.Seed), ".tendonrec", 0o644)
	if err != nil {
		h.recordingFailed("room "+roomName, err)
		return nil
	}
	header := record.HeaderOf(c.Game, c.Seed, app.Build())
	header.Strategy, header.Flags, header.Params = h.config.Strategy.Name, h.config.Flags.CommandLine(), h.config.Strategy.Params
	header.Room, header.Match = roomName, c.Match
	if c.Resume != nil {
		if played := c.Resume.Strategy; played != "" && played != header.Strategy { // it has its default settings
			header.Strategy, header.Flags, header.Params = played, "--sync "+played, nil
		}
		header.Start = record.PositionOf(c.Resume.World, c.Resume.Chain)
	}
	r := &recorder{host: h, file: newBackgroundFile(f, f.Name())}
	if r.writer, err = record.NewWriter(r.file, c.Game, header); err == nil && header.Start.Tick > 0 { // from the first state on
		var state image.Snapshot
		c.Resume.World.Image().Save(&state)
		err = r.writer.Image(&state)
		state.Release()
	}
	if err != nil {
		h.recordingFailed("room "+roomName, errors.Join(err, r.file.close()))
		return nil
	}
	h.mu.Lock()
	h.recorded = cmp.Or(h.recorded, f.Name())
	h.mu.Unlock()
	h.app.Logf("recording room %s into %s", roomName, f.Name())
	h.app.Emit("recording", app.Fields{"room": roomName, "file": f.Name()})
	return r
}

// Recording returns the file of the first match that was recorded, "" if there is none. It is whole after Stop.
func (h *Host) Recording() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.recorded
}

// recordingFailed counts and prints a recording that cannot be continued.
func (h *Host) recordingFailed(of string, err error) {
	h.mu.Lock()
	h.broken++
	h.mu.Unlock()
	h.app.Logf("the recording of %s is not whole, the match continues: %v", of, err)
	h.app.Emit("recording_failed", app.Fields{"of": of, "error": err.Error()})
}

func timestamp() string { return time.Now().UTC().Format("20060102T150405") }

// createFile makes a new file. If the name exists, it gets a number.
func createFile(dir, name, suffix string, mode os.FileMode) (*os.File, error) {
	number := ""
	for n := 2; ; n++ {
		f, err := os.OpenFile(filepath.Join(dir, name+number+suffix), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
		number = fmt.Sprintf(".%d", n)
	}
}

const maxRecordingBlock = 1 << 20 // bounds the bytes that a recording gathers before it writes them

// tick records a tick, and passes a block a second to the file.
func (r *recorder) tick(f systems.FinalTick) {
	if r.broken {
		return
	}
	err := r.writer.Tick(f.Recorded())
	if err == nil && r.writer.ImageDue(record.RecordingImages) {
		err = r.writer.Image(f.State)
	}
	if err == nil && (f.Tick%ecs.Tick(f.World.Game().TickRate) == 0 || r.writer.Waiting() > maxRecordingBlock) {
		err = r.writer.Flush()
	}
	r.check(err)
}

func (r *recorder) check(err error) {
	if err != nil && !r.broken {
		r.broken = true
		r.host.recordingFailed(r.file.name, err)
	}
}

func (r *recorder) close() {
	if !r.broken {
		r.check(r.writer.End())
	}
	r.check(r.file.close())
}

// ChecksumHistory keeps the server's checksums of recent ticks, one for each component. Clients in the same process compare
// theirs with them. In a game with private data, each seat has checksums of its own, of the state that its player may know.
type ChecksumHistory struct {
	engine int // columns of the engine, such as the tick, which change in every tick

	mu      sync.Mutex
	sums    rollback.Ring[[]image.Checksum]
	known   []rollback.Ring[[]image.Checksum] // by 1 + seat, 0 for spectators; nil for a game without private data
	changes uint64                            // ticks in which a component or resource of the game changed
}

const checksumTicks = 1024 // for which checksums are kept

func newChecksumHistory(g *ecs.Game) *ChecksumHistory {
	schema := g.Schema()
	t := &ChecksumHistory{engine: len(schema.Columns()) - len(g.Components) - len(g.Resources), sums: rollback.NewRing[[]image.Checksum](checksumTicks)}
	if schema.HasPrivate() {
		for range 1 + g.MaxPlayers {
			t.known = append(t.known, rollback.NewRing[[]image.Checksum](checksumTicks))
		}
	}
	return t
}

// sink returns the checksums as a sink of a room.
func (t *ChecksumHistory) sink() room.Sink {
	return room.Sink{NeedState: true, Tick: func(f systems.FinalTick) {
		t.mu.Lock()
		defer t.mu.Unlock()
		sums, _ := t.sums.Slot(f.Tick)
		*sums = f.State.ComponentChecksums((*sums)[:0])
		if before, ok := t.sums.At(f.Tick - 1); f.Tick > 1 && ok && !slices.Equal((*sums)[t.engine:], (*before)[t.engine:]) {
			t.changes++
		}
		for i := range t.known {
			var redacted image.Snapshot
			redacted.Redact(f.State, nil, i-1, func(e ecs.Entity) bool { return f.World.Sees(i-1, e) })
			sums, _ := t.known[i].Slot(f.Tick)
			*sums = redacted.ComponentChecksums((*sums)[:0])
			redacted.Release()
		}
	}}
}

// At returns the server's checksums of a tick, of the state that a client with the seat may know, −1 for a spectator. It returns nil if
// they are not kept.
func (t *ChecksumHistory) At(f ecs.Tick, seat int) []image.Checksum {
	t.mu.Lock()
	defer t.mu.Unlock()
	sums := &t.sums
	if t.known != nil {
		sums = &t.known[1+seat]
	}
	if kept, ok := sums.At(f); ok {
		return slices.Clone(*kept)
	}
	return nil
}

// Changed returns the number of ticks in which a component or resource of the game changed.
func (t *ChecksumHistory) Changed() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changes
}

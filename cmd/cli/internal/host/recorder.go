package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/room"
	"tendon/rollback/record"
	"tendon/systems"
)

// recorders writes a file for each open room into one directory. A recording that cannot be written is reported once and
// ended; the match continues.
type recorders struct {
	app  *app.App
	host *Config

	mu     sync.Mutex
	open   map[string]*recorder
	broken int // recordings without an end mark
}

func newRecorders(a *app.App, c *Config) *recorders {
	return &recorders{app: a, host: c, open: map[string]*recorder{}}
}

// start opens a recording for a room; nil if that fails.
func (rs *recorders) start(roomName string, c *room.Config) *recorder {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	f, err := createRecording(rs.host.Record, roomName, c.Seed, time.Now())
	if err == nil {
		r := &recorder{path: f.Name(), file: f, failed: rs.fail}
		if err = r.begin(rs.host, roomName, c); err == nil {
			rs.open[roomName] = r
			rs.app.Logf("recording room %s into %s", roomName, r.path)
			rs.app.Emit("recording", app.Fields{"room": roomName, "file": r.path})
			return r
		}
		err = errors.Join(err, f.Close())
	}
	rs.broken++
	rs.complain("room "+roomName, err)
	return nil
}

// fail counts a recording that cannot be continued. It is called on the room's goroutine, once for each.
func (rs *recorders) fail(r *recorder, err error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.broken++
	rs.complain(r.path, err)
}

func (rs *recorders) complain(what string, err error) {
	rs.app.Logf("the recording of %s is not whole, the match continues: %v", what, err)
	rs.app.Emit("recording_failed", app.Fields{"of": what, "error": err.Error()})
}

// end closes the recording of a room that is over.
func (rs *recorders) end(room string) {
	rs.mu.Lock()
	r := rs.open[room]
	delete(rs.open, room)
	rs.mu.Unlock()
	if r != nil {
		r.close()
	}
}

// verdict returns an error if a recording is not whole.
func (rs *recorders) verdict() error {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.broken > 0 {
		return fmt.Errorf("%d recordings in %s are not whole: make room on the disk or choose another --record", rs.broken, rs.host.Record)
	}
	return nil
}

// recordingSuffix ends the names of recordings.
const recordingSuffix = ".tendonrec"

// createRecording makes a new file named after the room, the time and the seed. It never opens an existing file.
func createRecording(dir, room string, seed uint64, now time.Time) (*os.File, error) {
	name := fmt.Sprintf("%s-%s-%016x", room, now.UTC().Format("20060102T150405"), seed)
	for n := 1; ; n++ {
		try := name
		if n > 1 { // the room was closed and opened again within a second, with the same seed
			try = fmt.Sprintf("%s.%d", name, n)
		}
		f, err := os.OpenFile(filepath.Join(dir, try+recordingSuffix), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// recorder writes one match. It belongs to its room's goroutine.
type recorder struct {
	path string
	file interface {
		io.Writer
		Sync() error
		Close() error
	}
	writer *record.Writer
	failed func(*recorder, error)
	broken bool
}

// begin writes the header, and the first state of a match that continues.
func (r *recorder) begin(host *Config, roomName string, c *room.Config) (err error) {
	h := record.HeaderOf(c.Game, c.Seed, app.Build())
	h.Strategy, h.Flags, h.Params, h.Room, h.Match = host.Strategy.Name, host.Flags, host.Strategy.Params, roomName, c.Match
	if c.Resume != nil {
		h.Start = record.PositionOf(c.Resume.World, c.Resume.Chain)
	}
	if r.writer, err = record.NewWriter(r.file, c.Game, h); err != nil || h.Start.Tick == 0 {
		return err
	}
	var state image.Snapshot
	c.Resume.World.Image().Save(&state)
	defer state.Release()
	return r.writer.Image(&state)
}

// sink returns the recording as a sink of its room.
func (r *recorder) sink() room.Sink { return room.Sink{Tick: r.tick, NeedState: true} }

// tick records a tick, and writes a block a second.
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

// maxRecordingBlock bounds the bytes that a recording gathers before it writes them.
const maxRecordingBlock = 1 << 20

// check ends the recording at the first error.
func (r *recorder) check(err error) {
	if err != nil && !r.broken {
		r.broken = true
		r.failed(r, err)
	}
}

// close writes the end mark and closes the file.
func (r *recorder) close() {
	if !r.broken {
		r.check(r.writer.End())
	}
	r.check(r.file.Sync())
	r.check(r.file.Close())
}

package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/room"
	"tendon/rollback/recording"
	"tendon/systems"
)

// recorders writes a file for each open room into one directory. A recording that cannot be written is told of once
// and given up; the match goes on.
type recorders struct {
	app *app
	dir string

	mu     sync.Mutex
	open   map[string]*recorder
	broken int // recordings that are not whole
}

func newRecorders(a *app, dir string) *recorders {
	return &recorders{app: a, dir: dir, open: map[string]*recorder{}}
}

// start opens a recording for a match that begins or, if from is there, goes on; nil if that cannot be done.
func (rs *recorders) start(roomName string, seed uint64, from *room.Resume) *recorder {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	f, err := createRecording(rs.dir, roomName, seed, time.Now())
	if err == nil {
		r := &recorder{path: f.Name(), file: f, failed: rs.fail}
		if err = r.begin(rs.app.game, seed, from); err == nil {
			rs.open[roomName] = r
			rs.app.say("recording room %s into %s", roomName, r.path)
			rs.app.emit("recording", fields{"room": roomName, "file": r.path})
			return r
		}
		err = errors.Join(err, f.Close())
	}
	rs.broken++
	rs.complain("room "+roomName, err)
	return nil
}

// fail takes note of a recording that cannot be gone on with. It is called on the room's goroutine, once each.
func (rs *recorders) fail(r *recorder, err error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.broken++
	rs.complain(r.path, err)
}

func (rs *recorders) complain(what string, err error) {
	rs.app.say("the recording of %s is not whole, the match goes on: %v", what, err)
	rs.app.emit("recording_failed", fields{"of": what, "error": err.Error()})
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

// verdict is an error if a recording is not whole.
func (rs *recorders) verdict() error {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.broken > 0 {
		return fmt.Errorf("%d recordings in %s are not whole: make room on the disk or choose another --record", rs.broken, rs.dir)
	}
	return nil
}

// recordingSuffix ends the names of recordings.
const recordingSuffix = ".tendonrec"

// createRecording makes a new file named after the room, the moment and the seed. It never takes one that exists.
func createRecording(dir, room string, seed uint64, now time.Time) (*os.File, error) {
	name := fmt.Sprintf("%s-%s-%016x", room, now.UTC().Format("20060102T150405"), seed)
	for n := 1; ; n++ {
		try := name
		if n > 1 { // the same room closed and opened within a second, with a seed that was given
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
	writer *recording.Writer
	failed func(*recorder, error)
	broken bool
}

// begin writes what stands before the first tick: a match that goes on begins with its state.
func (r *recorder) begin(game *ecs.Game, seed uint64, from *room.Resume) (err error) {
	h := recording.HeaderOf(game, seed, buildString())
	if from != nil {
		h.Start = from.World.Tick()
	}
	if r.writer, err = recording.NewWriter(r.file, h); err != nil || h.Start == 0 {
		return err
	}
	var state image.Snapshot
	from.World.Image().Save(&state)
	defer state.Release()
	return r.writer.Image(&state)
}

// sink returns the recording as a sink of its room.
func (r *recorder) sink() room.Sink { return room.Sink{Tick: r.take, NeedState: true} }

// take records a tick.
func (r *recorder) take(f systems.FinalTick) {
	if r.broken {
		return
	}
	err := r.writer.Tick(recording.Entry{Tick: f.Tick, Inputs: f.Inputs, Late: f.Late, Orders: f.Orders, Checksum: f.State.Checksum()})
	if err == nil && r.writer.ImageDue() {
		err = r.writer.Image(f.State)
	}
	r.check(err)
}

// check gives the recording up at the first error.
func (r *recorder) check(err error) {
	if err != nil && !r.broken {
		r.broken = true
		r.failed(r, err)
	}
}

// close writes what waits and closes the file.
func (r *recorder) close() {
	if !r.broken {
		r.check(r.writer.Close())
	}
	r.check(r.file.Sync())
	r.check(r.file.Close())
}

package journals

import (
	"errors"
	"fmt"
	"sync/atomic"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/room"
	"tendon/rollback/journal"
	"tendon/systems"
)

// roomJournal is the journal of a room that is open. It belongs to the room's goroutine, but for sync.
type roomJournal struct {
	keeper *Keeper
	room   string
	path   string
	file   file
	writer *journal.Writer
	state  image.Snapshot // scratch: for an image
	large  bool           // the match's states do not fit into a journal: it is replayed from the last that did

	stuck   error // the ticks cannot be journalled: nothing leaves the room any more
	waits   bool  // the last commit failed
	written bool  // since the last sync, with Always
	dirty   atomic.Bool
	lost    atomic.Pointer[error] // a sync failed
}

// checkEvery is the interval of the checksums in a journal, in ticks.
const checkEvery = 60

// sink returns the journal as a sink of its room.
func (j *roomJournal) sink() room.Sink {
	return room.Sink{Tick: j.take, Seat: j.seat, Commit: j.commit}
}

// take adds a tick.
func (j *roomJournal) take(f systems.FinalTick) {
	j.note(j.writer.Tick(journal.Tick{Tick: f.Tick, Inputs: f.Inputs, Orders: f.Orders}))
	if j.stuck != nil {
		return
	}
	if f.State != nil && f.Tick%checkEvery == 0 {
		j.note(j.writer.Check(f.Tick, f.State.Checksum()))
	}
	if !j.large && j.writer.ImageDue() && f.World != nil && f.World.Tick() == f.Tick {
		f.World.Image().Save(&j.state)
		j.large = j.writer.Image(&j.state) != nil
		j.state.Release()
	}
}

func (j *roomJournal) seat(number int, s room.Seat) {
	j.note(j.writer.Seat(journal.Seat{Player: ecs.Player(number), Client: s.Client, Name: s.Name, Held: s.Held}))
}

// note takes down what keeps ticks out of the journal for good.
func (j *roomJournal) note(err error) {
	if j.stuck == nil {
		j.stuck = err
	}
}

// commit writes what was taken; it is the room's Commit.
func (j *roomJournal) commit() error {
	err := j.write()
	switch {
	case err != nil && !j.waits:
		j.waits = true
		n := News{Kind: Failed, Room: j.room, File: j.path, Tick: j.writer.Last(), Err: err}
		if j.stuck != nil || errors.Is(err, errLost) {
			n.Kind = Broken
		}
		j.keeper.config.Told(n)
	case err == nil && j.waits:
		j.waits = false
		j.keeper.config.Told(News{Kind: Mended, Room: j.room, File: j.path, Tick: j.writer.Last()})
	}
	return err
}

// errLost says that a sync failed. The system may have thrown away what it could not write, and would answer the next
// sync as if nothing had been: so there is no next one, and nothing more leaves the room.
var errLost = errors.New("the disk may have lost what was written")

func (j *roomJournal) write() error {
	if j.stuck != nil {
		return j.stuck
	}
	if lost := j.lost.Load(); lost != nil {
		return *lost
	}
	if j.writer.Waiting() > 0 {
		if err := j.writer.Flush(); err != nil {
			return err
		}
		j.written = true
		j.dirty.Store(true)
	}
	if j.keeper.config.Sync == Always && j.written {
		j.sync()
		if lost := j.lost.Load(); lost != nil {
			return *lost
		}
		j.written = false
	}
	return nil
}

// sync makes what was written until now survive a power cut. One goroutine at a time may call it.
func (j *roomJournal) sync() {
	if j.lost.Load() != nil || !j.dirty.Swap(false) {
		return
	}
	if err := j.file.Sync(); err != nil { // of a file that was closed meanwhile nobody asks any more
		err = fmt.Errorf("%w: %w", errLost, err)
		j.lost.Store(&err)
	}
}

package journals

import (
	"errors"
	"fmt"
	"sync/atomic"

	"tendon/ecs/image"
	"tendon/net/room"
	"tendon/rollback/record"
	"tendon/systems"
)

// roomJournal is the journal of a room that is open. It belongs to the room's goroutine, apart from sync.
type roomJournal struct {
	store  *Store
	room   string
	path   string
	file   file
	writer *record.Writer
	state  image.Snapshot // scratch: for an image
	large  bool           // the match's states do not fit into a journal; a recovery begins at the last one that did

	fatal   error // an entry was refused: no further tick leaves the room
	failing bool  // the last commit failed
	written bool  // since the last sync, with Always
	dirty   atomic.Bool
	lost    atomic.Pointer[error] // a sync failed
}

// checkEvery is the distance of the checksums in a journal, in ticks.
const checkEvery = 60

// sink returns the journal as a sink of its room.
func (j *roomJournal) sink() room.Sink {
	return room.Sink{Tick: j.tick, Seat: func(s record.Seat) { j.check(j.writer.Seat(s)) }, Commit: j.commit}
}

// tick appends a tick.
func (j *roomJournal) tick(f systems.FinalTick) {
	t := f.FinalTick
	if f.Tick%checkEvery == 0 {
		t = f.Recorded()
	}
	if j.check(j.writer.Tick(t)); j.fatal != nil {
		return
	}
	if !j.large && j.writer.ImageDue(record.JournalImages) && f.World != nil && f.World.Tick() == f.Tick {
		f.World.Image().Save(&j.state)
		j.large = j.writer.Image(&j.state) != nil
		j.state.Release()
	}
}

// check stores the first error of the writer.
func (j *roomJournal) check(err error) {
	if j.fatal == nil {
		j.fatal = err
	}
}

// commit writes the entries since the last one; it is the room's Commit.
func (j *roomJournal) commit() error {
	err := j.write()
	switch {
	case err != nil && !j.failing:
		j.failing = true
		kind := Failed
		if j.broken() != nil {
			kind = Broken
		}
		j.report(kind, err)
	case err == nil && j.failing:
		j.failing = false
		j.report(Recovered, nil)
	}
	return err
}

func (j *roomJournal) report(kind Kind, err error) {
	j.store.config.Report(Event{Kind: kind, Room: j.room, File: j.path, Tick: j.writer.Last(), Err: err})
}

// errLost is returned after a sync that failed. The system may have discarded the bytes that it could not write, and would
// report success for the next sync. So there is no next sync, and no further tick leaves the room.
var errLost = errors.New("the disk may have lost bytes that were written")

func (j *roomJournal) write() error {
	if err := j.broken(); err != nil {
		return err
	}
	if j.writer.Waiting() > 0 {
		if err := j.writer.Flush(); err != nil {
			return err
		}
		j.written = true
		j.dirty.Store(true)
	}
	if j.store.config.Sync == Always && j.written {
		j.sync()
		j.written = false
	}
	return j.broken()
}

// broken returns the error that ends the journal.
func (j *roomJournal) broken() error {
	if lost := j.lost.Load(); j.fatal == nil && lost != nil {
		return *lost
	}
	return j.fatal
}

// sync makes everything that was written before the call survive a power cut. One goroutine at a time may call it.
func (j *roomJournal) sync() {
	if j.lost.Load() != nil || !j.dirty.Swap(false) {
		return
	}
	if err := j.file.Sync(); err != nil { // if the file was closed meanwhile, the error is not read
		err = fmt.Errorf("%w: %w", errLost, err)
		j.lost.Store(&err)
	}
}

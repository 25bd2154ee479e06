package journals

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/cluster"
	"tendon/net/room"
	"tendon/rollback/record"
	"tendon/systems"
)

// roomJournal is the journal of an open room. Only the room's goroutine uses it, apart from out, sync and drain.
type roomJournal struct {
	store  *Store
	room   string
	match  *Match // that was recovered; nil for a new one
	path   string
	file   File
	log    *log           // file, if it is the log of a cluster
	header record.Header  // of the next journal, apart from Start and Digest; with a log only
	digest *record.Digest // of all ticks, for the next header; nil without HistoryKey, or if that of the start is not known
	seats  []record.Seat  // the newest entry of each seat; with a log only
	writer *record.Writer // to out
	out    output
	wake   func()            // makes the room call commit
	state  image.Snapshot    // scratch: for an image
	past   []*image.Snapshot // scratch: the states before it
	reach  ecs.Tick          // the farthest that views have looked back so far, in ticks
	oldest ecs.Tick          // the oldest state in the journal's newest image
	seated bool              // a player has entered
	due    atomic.Bool       // an image is written after the next tick
	large  bool              // the match's states do not fit into a journal; a recovery begins at the last one that did

	begun   bool   // a commit is under way
	until   uint64 // of out.accepted: the end of its bytes
	calls   int    // of commit, since it began
	behind  bool   // commits do not wait for the disk until it has caught up
	mark    uint64 // of out.accepted: the bytes up to mark are not written after age calls of commit
	age     int
	failing bool                  // the last commit failed
	lost    bool                  // Lost was reported
	waits   bool                  // it was reported that the match waits for a slow disk
	dirty   atomic.Bool           // bytes were written since the last sync
	syncing atomic.Int64          // when the sync of Store.syncEvery that is under way began, in nanoseconds of its own clock; 0: none is
	broken  atomic.Pointer[error] // an entry was refused or a sync failed: no further tick leaves the room
	away    atomic.Pointer[error] // the file is not in its place: the match waits until it is there again
}

// checkEvery is the distance of the checksums in a journal, in ticks.
const checkEvery = 60

// sink returns the journal as a sink of its room.
func (j *roomJournal) sink() room.Sink {
	return room.Sink{Tick: j.tick, Seat: j.seat, Commit: j.commit, Resumed: j.resumed}
}

func (j *roomJournal) seat(s record.Seat) {
	j.seated = true
	if j.log != nil {
		j.seats = append(slices.DeleteFunc(j.seats, func(o record.Seat) bool { return o.Player == s.Player }), s)
	}
	j.check(j.writer.Seat(s))
}

func (j *roomJournal) resumed(last ecs.Tick, returned uint64, paused bool) {
	j.store.config.Report(Event{Kind: Resumed, Room: j.room, File: j.path, Tick: last, Returned: returned, Paused: paused})
}

func (j *roomJournal) tick(f systems.FinalTick) {
	t := f.FinalTick
	if f.Tick%checkEvery == 0 {
		t = f.Recorded()
	}
	ok := j.check(j.writer.Tick(t))
	if ok && j.digest != nil {
		j.digest.Add(j.writer.Code())
	}
	for i := range t.Orders {
		if strategy, ok := t.Orders[i].Strategy(); ok {
			j.header.Since, j.header.Present = t.Tick, strategy
		}
	}
	back := record.LookBack(t.Tick, t.Orders)
	j.reach = max(j.reach, back)
	// A view may look back at a state that the newest image does not have. Another image makes the tick replayable.
	covered := t.Tick-back >= j.oldest
	if ok && (j.due.Swap(false) || !covered || j.imageDue(f.World)) {
		j.image(f.World, covered)
	}
}

// imageDue reports whether the journal is to receive an image. In a cluster, the image restarts the journal. While results are not stored, the
// journal cannot restart. The image is then delayed by at most the same interval, because the next owner must also read the entries before it.
func (j *roomJournal) imageDue(w *ecs.World) bool {
	switch {
	case j.log == nil:
		return j.writer.ImageDue(record.JournalImages)
	case !j.writer.ImageDue(checkpointSeconds):
		return false
	case j.writer.ImageDue(2 * checkpointSeconds):
		return true
	}
	return w != nil && j.restarts(w)
}

// image appends the state of a world, if it is that of the last tick, with the states before it to which views look back.
// covered says that the views of the last tick need no others.
func (j *roomJournal) image(w *ecs.World, covered bool) {
	if j.large || w == nil || w.Tick() != j.writer.Last() {
		return
	}
	past := j.past[:0]
	for f := w.Tick(); w.Tick()-f < j.reach; f-- {
		s, ok := w.Image().Past(f - 1)
		if !ok {
			break
		}
		past = append(past, s)
	}
	slices.Reverse(past)
	w.Image().Save(&j.state)
	if j.log != nil {
		j.large = j.restart(w, &j.state, past, covered) != nil
	} else {
		j.large = j.writer.Image(&j.state, past...) != nil
	}
	if !j.large {
		j.oldest = w.Tick() - ecs.Tick(len(past))
	}
	j.state.Release()
	clear(past)
	j.past = past
}

// check stores the first error that ends the journal, and reports whether err is nil.
func (j *roomJournal) check(err error) (ok bool) {
	if err != nil {
		first := err
		j.broken.CompareAndSwap(nil, &first)
	}
	return err == nil
}

// commit is the room's Commit.
func (j *roomJournal) commit() error {
	err := j.progress()
	switch {
	case err == room.ErrPending, err == errStalled: // the first is no failure; stalled has reported the second
	case errors.Is(err, cluster.ErrLost): // also after another failure
		if !j.lost {
			j.lost, j.failing = true, true
			j.report(Lost, err)
		}
	case err != nil && !j.failing:
		j.failing = true
		kind := Failed
		if j.broken.Load() != nil {
			kind = Broken
		}
		j.report(kind, err)
	case err == nil && (j.failing || j.waits):
		j.failing, j.waits = false, false
		j.report(Recovered, nil)
	}
	return err
}

func (j *roomJournal) report(kind Kind, err error) {
	err = advised(err, j.store.config.Dir, len(j.store.rooms()))
	j.store.config.Report(Event{Kind: kind, Room: j.room, File: j.path, Tick: j.writer.Last(), Err: err})
}

// errLost is returned after a sync that failed. The system may have discarded the bytes that it could not write, and would
// report success for the next sync. So there is no next sync, and no further tick leaves the room.
var errLost = errors.New("the disk may have lost bytes that were written")

// sync makes everything that was written before the call survive a power cut. One goroutine at a time may call it.
func (j *roomJournal) sync() {
	if j.broken.Load() != nil || !j.dirty.Swap(false) {
		return
	}
	if err := j.file.Sync(); err != nil { // if the file was closed meanwhile, the error is not read
		j.check(fmt.Errorf("%w: %w", errLost, err))
	}
}

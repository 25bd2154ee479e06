package matchsim

import (
	"bytes"
	"errors"
	"slices"

	"tendon/ecs"
	"tendon/net/room"
	"tendon/rollback/record"
	"tendon/systems"
)

// Journal stores a room's match in memory as a server stores it in a file, so that a test can end the room and start
// the next one. The zero Journal is empty.
type Journal struct {
	// Always makes every write survive a power cut, so that Cut removes none and clients return no ticks.
	Always bool
	// Fail is the error that writes return, after writing a half; nil: they succeed.
	Fail error

	game   *ecs.Game
	writer *record.Writer
	file   []byte
	ends   []int // where each write ends; the first is that of the header
	safe   int   // writes after the header that a power cut cannot lose any more: those before the last Resume
	err    error // of the writer; a correct room causes none
}

// Attach makes a room that is about to be made store its match here: a new match, or the one of c.Resume.
func (j *Journal) Attach(c *room.Config) error {
	j.game = c.Game
	if !j.Always {
		c.HistoryKey = historyKey
	}
	if c.Resume == nil {
		h := record.HeaderOf(c.Game, c.Seed, "")
		h.Strategy, h.Params, h.Match = c.Strategy.Name, c.Strategy.Params, c.Match
		var err error
		if j.writer, err = record.NewWriter((*disk)(j), c.Game, h); err != nil {
			return err
		}
		if err := j.writer.Flush(); err != nil {
			return err
		}
	}
	c.Sinks = append(c.Sinks, room.Sink{
		Tick: func(f systems.FinalTick) { j.write(&f) },
		Seat: func(s record.Seat) { j.keep(j.writer.Seat(s)) },
		Commit: func() error {
			if j.err != nil {
				return j.err
			}
			return j.writer.Flush()
		},
	})
	return nil
}

// historyKey is the key of every room with a Journal.
var historyKey = []byte("the key of all simulated servers")

func (j *Journal) keep(err error) { j.err = errors.Join(j.err, err) }

func (j *Journal) write(f *systems.FinalTick) {
	t := f.FinalTick
	hasState := f.State != nil && f.State.Tick() == f.Tick
	if hasState && f.Tick%ecs.Tick(j.game.TickRate) == 0 {
		t = f.Recorded()
	}
	j.keep(j.writer.Tick(t))
	if hasState && j.writer.ImageDue(record.JournalImages) {
		j.keep(j.writer.Image(f.State))
	}
}

// disk is a Journal as its writer's file.
type disk Journal

func (d *disk) Write(b []byte) (int, error) {
	if d.Fail != nil {
		n := len(b) / 2 // a full disk stores a part
		d.file = append(d.file, b[:n]...)
		return n, d.Fail
	}
	d.file = append(d.file, b...)
	d.ends = append(d.ends, len(d.file))
	return len(b), nil
}

// Cut removes the last writes, as a power cut does, and tears the first of them. The header and the writes before an
// earlier cut stay.
func (j *Journal) Cut(writes int) {
	if writes = min(writes, len(j.ends)-1-j.safe); writes <= 0 || j.Always {
		return
	}
	j.ends = j.ends[:len(j.ends)-writes+1]
	whole, torn := j.ends[len(j.ends)-2], j.ends[len(j.ends)-1]
	j.ends = j.ends[:len(j.ends)-1]
	j.safe = len(j.ends) - 1
	j.file = j.file[:whole+(torn-whole)/2]
}

// Resume reads the journal and returns its match, for a room that is then attached to the journal again.
func (j *Journal) Resume() (*room.Resume, error) {
	old, err := record.Open(bytes.Clone(j.file), j.game)
	if err != nil {
		return nil, err
	}
	world, err := old.WorldAt(old.Last().Tick)
	if err != nil {
		return nil, err
	}
	j.file, j.err = j.file[:len(old.Bytes())], nil
	j.ends = slices.DeleteFunc(j.ends, func(end int) bool { return end > len(j.file) })
	j.writer, j.safe = old.Resume((*disk)(j)), len(j.ends)-1 // as in cmd/cli/journals, the next process syncs the file first
	return room.ResumeOf(old, world), nil
}

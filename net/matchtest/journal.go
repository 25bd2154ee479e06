package matchtest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"tendon/ecs"
	"tendon/net/room"
	"tendon/rollback/journal"
	"tendon/systems"
)

// Journal keeps a room's match in memory as a server keeps it in a file, so that a test can end the room and begin
// another one in its place. The zero Journal is empty.
type Journal struct {
	// Fail is what writing returns; nil: it works.
	Fail error

	game   *ecs.Game
	writer *journal.Writer
	file   []byte
	ends   []int // where each write ends; the first is that of the header
	sure   int   // so many of them no power cut takes any more, beside the header's
	err    error // of a call that a right room never gets
}

// Attach makes a room that is about to be made keep its match here: a new one, or the one that c.Resume goes on with.
func (j *Journal) Attach(c *room.Config) error {
	j.game = c.Game
	if c.Resume == nil {
		h := journal.HeaderOf(c.Game, c.Seed, "")
		h.Strategy, h.Params, h.Match = c.Strategy.Name, c.Strategy.Params, c.Match
		var err error
		if j.writer, err = journal.NewWriter((*disk)(j), c.Game, h); err != nil {
			return err
		}
		if err := j.writer.Flush(); err != nil {
			return err
		}
	}
	c.Sinks = append(c.Sinks, room.Sink{
		Tick: func(f systems.FinalTick) { j.take(&f) },
		Seat: func(number int, s room.Seat) {
			j.note(j.writer.Seat(journal.Seat{Player: ecs.Player(number), Client: s.Client, Name: s.Name, Held: s.Held}))
		},
		Commit: func() error {
			if j.err != nil {
				return j.err
			}
			return j.writer.Flush()
		},
	})
	return nil
}

func (j *Journal) note(err error) { j.err = errors.Join(j.err, err) }

func (j *Journal) take(f *systems.FinalTick) {
	j.note(j.writer.Tick(journal.Tick{Tick: f.Tick, Inputs: f.Inputs, Orders: f.Orders}))
	if f.State == nil || f.State.Tick() != f.Tick {
		return
	}
	if f.Tick%ecs.Tick(j.game.TickRate) == 0 {
		j.note(j.writer.Check(f.Tick, f.State.Checksum()))
	}
	if j.writer.ImageDue() {
		j.note(j.writer.Image(f.State))
	}
}

// disk is a Journal as its writer sees it.
type disk Journal

func (d *disk) Write(b []byte) (int, error) {
	if d.Fail != nil {
		n := len(b) / 2 // a full disk takes some of it
		d.file = append(d.file, b[:n]...)
		return n, d.Fail
	}
	d.file = append(d.file, b...)
	d.ends = append(d.ends, len(d.file))
	return len(b), nil
}

// Cut takes the last writes away, as a power cut does, and tears the first of them. The header is always there, and what
// was there after the power cut before.
func (j *Journal) Cut(writes int) {
	if writes = min(writes, len(j.ends)-1-j.sure); writes <= 0 {
		return
	}
	j.ends = j.ends[:len(j.ends)-writes+1]
	whole, torn := j.ends[len(j.ends)-2], j.ends[len(j.ends)-1]
	j.ends = j.ends[:len(j.ends)-1]
	j.sure = len(j.ends) - 1
	j.file = j.file[:whole+(torn-whole)/2]
}

// Resume reads the journal back and returns the match in it, for a room that is then Attached to it again.
func (j *Journal) Resume() (*room.Resume, error) {
	old, err := journal.Open(bytes.Clone(j.file), j.game, "")
	if err != nil {
		return nil, err
	}
	world, err := old.World()
	if err != nil {
		return nil, err
	}
	if last := old.Last(); world.Tick() != last.Tick {
		return nil, fmt.Errorf("matchtest: the journal ends at tick %d, its world is at %d", last.Tick, world.Tick())
	}
	j.file, j.err = j.file[:old.Valid()], nil
	j.ends = slices.DeleteFunc(j.ends, func(end int) bool { return end > len(j.file) })
	j.writer = old.Resume((*disk)(j))
	return room.ResumeOf(old, world), nil
}

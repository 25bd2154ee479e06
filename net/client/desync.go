package client

import (
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/session"
	"tendon/rollback/record"
	"tendon/systems"
)

// Desync describes a difference between the state of a client and that of the server.
type Desync struct {
	Difference image.Difference // the first difference; Here is the client's value
	Strategy   string
	Seat       int // −1: none
	// Mine ends with the client's own state, Theirs is the server's state of the same tick. Mine goes back as far as the
	// strategy keeps final states, with the inputs and orders of the ticks.
	Mine, Theirs *record.Record
}

const (
	desyncsKept = 8   // bounds the differences that are kept
	recentTicks = 256 // bounds how far back Desync.Mine goes. No strategy keeps as many states
)

// desyncs are the differences that a client has found, and what its reports of them need.
type desyncs struct {
	found  []image.Difference // by resyncs, newest last
	recent *record.History    // the last ticks; nil without Config.Desynced
}

// Desyncs returns the first difference that each of the last resyncs found, newest last.
func (c *Core) Desyncs() []image.Difference { return c.desyncs.found }

// compare compares an image with the own state of its tick, if the strategy keeps that or can compute it. It keeps and reports the
// first difference.
func (c *Core) compare(encoded []byte) {
	keeper, keeps := c.strategy.(systems.Keeper)
	if !keeps {
		return
	}
	w, err := ecs.NewWorld(c.config.Game, 0)
	if err != nil || w.Image().Load(encoded) != nil {
		return
	}
	mine, held := keeper.Kept(w.Tick())
	if past, ok := c.strategy.(ecs.Past); ok && !held {
		fork, known := past.Fork(w.Tick())
		if !known {
			return
		}
		mine, held = new(image.Snapshot), true
		fork.Image().Save(mine)
		defer mine.Release()
	}
	if !held {
		return
	}
	var theirs image.Snapshot
	w.Image().Save(&theirs)
	defer theirs.Release()
	d, differ := image.FirstDifference(mine, &theirs)
	if !differ {
		return
	}
	known := &c.desyncs
	if len(known.found) == desyncsKept {
		known.found = slices.Delete(known.found, 0, 1)
	}
	known.found = append(known.found, d)
	if known.recent != nil {
		c.report(d, keeper, mine, encoded)
	}
}

// header returns the header of the records. It has no seed, since the client does not receive it.
func (c *Core) header() record.Header {
	build, _ := session.ThisBuild()
	return record.HeaderOf(c.config.Game, 0, build)
}

func (c *Core) report(d image.Difference, keeper systems.Keeper, end *image.Snapshot, encoded []byte) {
	images := []record.Image{record.ImageOf(end)}
	for f := max(1, d.Tick-min(d.Tick, recentTicks)); f < d.Tick; f++ {
		if s, held := keeper.Kept(f); held && c.desyncs.recent.Last() >= d.Tick && f >= c.desyncs.recent.First() {
			images = []record.Image{record.ImageOf(s), images[0]}
			break
		}
	}
	checksum := func(f ecs.Tick) image.Checksum { // of the own state, if it is kept
		if s, held := keeper.Kept(f); held {
			return s.Checksum()
		}
		return 0
	}
	mine := c.desyncs.recent.Between(d.Tick, checksum, images...)
	theirs, err := record.Collect(c.config.Game, c.header(), []record.Image{{Tick: d.Tick, Bytes: encoded}}, nil)
	if mine == nil || err != nil {
		return // a tick that no record can have
	}
	c.config.Desynced(Desync{Difference: d, Strategy: c.welcome.Strategy, Seat: c.welcome.Seat, Mine: mine, Theirs: theirs})
}

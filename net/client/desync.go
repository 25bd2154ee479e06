package client

import (
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/session"
	"tendon/rollback/record"
	"tendon/systems"
)

// Desync describes a difference between the state of a client and that of the server. It shares no memory with the client.
type Desync struct {
	Difference image.Difference // the first difference; Here is the client's value
	Strategy   string
	Seat       int // −1: none
	// Mine ends with the client's own state, Theirs is the server's state of the same tick. Mine goes back as far as the
	// strategy keeps final states, with the inputs and orders of the ticks.
	Mine, Theirs *record.Record
}

// desyncs finds and keeps the differences between own states and images of the server.
type desyncs struct {
	found  []image.Difference // newest last
	loaded *ecs.World         // scratch: the state of an image; nil until the first
	recent *record.History    // the last ticks; nil without Config.Desynced
}

const (
	// desyncsKept bounds the differences that are kept.
	desyncsKept = 8
	// recentTicks bounds how far back Desync.Mine goes. No strategy keeps as many states.
	recentTicks = 256
)

// Desyncs returns the first difference that each of the last resyncs found, newest last.
func (c *Core) Desyncs() []image.Difference { return c.desyncs.found }

// compare returns the first difference between an image and the own state of its tick. ok is false without a difference,
// and if the strategy does not keep the state of that tick.
func (c *Core) compare(encoded []byte) (d image.Difference, ok bool) {
	keeper, keeps := c.strategy.(systems.Keeper)
	if !keeps {
		return d, false
	}
	w := c.desyncs.loaded
	if w == nil {
		var err error
		if w, err = ecs.NewWorld(c.config.Game, 0); err != nil {
			return d, false
		}
		c.desyncs.loaded = w
	}
	if w.Image().Load(encoded) != nil {
		return d, false
	}
	mine, held := keeper.Kept(w.Tick())
	if !held {
		return d, false
	}
	var theirs image.Snapshot
	w.Image().Save(&theirs)
	defer theirs.Release()
	return image.FirstDifference(mine, &theirs)
}

// header returns the header of the records. It has no seed, which the client does not know.
func (c *Core) header() record.Header {
	build := c.config.Build
	if build == "" {
		build, _ = session.ThisBuild()
	}
	return record.HeaderOf(c.config.Game, 0, build)
}

// report keeps a difference and calls Config.Desynced.
func (c *Core) report(d image.Difference, encoded []byte) {
	if len(c.desyncs.found) == desyncsKept {
		c.desyncs.found = slices.Delete(c.desyncs.found, 0, 1)
	}
	c.desyncs.found = append(c.desyncs.found, d)
	keeper, ok := c.strategy.(systems.Keeper)
	recent := c.desyncs.recent
	if recent == nil || !ok {
		return
	}
	end, ok := keeper.Kept(d.Tick)
	if !ok {
		return
	}
	images := []record.Image{record.ImageOf(end)}
	for f := max(1, d.Tick-min(d.Tick, recentTicks)); f < d.Tick; f++ {
		if s, held := keeper.Kept(f); held && recent.Last() >= d.Tick && f >= recent.First() {
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
	mine := recent.Between(d.Tick, checksum, images...)
	theirs, err := record.Collect(c.config.Game, c.header(), []record.Image{{Tick: d.Tick, Bytes: encoded}}, nil)
	if mine == nil || err != nil {
		return // a tick that no record can have
	}
	c.config.Desynced(Desync{Difference: d, Strategy: c.welcome.Strategy, Seat: c.welcome.Seat, Mine: mine, Theirs: theirs})
}

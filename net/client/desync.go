package client

import (
	"slices"

	"tendon/ecs/image"
	"tendon/net/session"
	"tendon/rollback"
	"tendon/rollback/recording"
	"tendon/rollback/travel"
	"tendon/systems"
)

// Desync describes a difference between the state of a client and that of the server. It shares no memory with the client.
type Desync struct {
	Difference image.Difference // the first difference; Here is the client's value
	Strategy   string
	Seat       int // −1: none
	// Mine ends with the client's own state, Theirs is the server's state of the same tick. Mine goes back as far as the
	// strategy keeps final states, with the inputs and orders of the ticks.
	Mine, Theirs *travel.Clip
}

// desyncs finds and keeps the differences between own states and images of the server.
type desyncs struct {
	found      []image.Difference // newest last
	comparison rollback.Comparison
	recent     *travel.Ring // the last ticks; nil without Config.Desynced
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
	if keeper, keeps := c.strategy.(systems.Keeper); keeps {
		d, ok = c.desyncs.comparison.With(c.config.Game, encoded, keeper.Kept)
	}
	return d, ok
}

// noteDesync keeps and reports a difference.
func (c *Core) noteDesync(d image.Difference, encoded []byte) {
	s := &c.desyncs
	if len(s.found) == desyncsKept {
		s.found = slices.Delete(s.found, 0, 1)
	}
	s.found = append(s.found, d)
	c.report(d, encoded)
}

// keepRecent makes the ring for Config.Desynced.
func (c *Core) keepRecent() (err error) {
	if c.config.Desynced != nil {
		c.desyncs.recent, err = travel.NewRing(travel.RingConfig{Header: c.header(), Ticks: recentTicks})
	}
	return err
}

// header returns the header of the clips. It has no seed, which the client does not know.
func (c *Core) header() recording.Header {
	build := c.config.Build
	if build == "" {
		build, _ = session.ThisBuild()
	}
	return recording.HeaderOf(c.config.Game, 0, build)
}

// report calls Config.Desynced.
func (c *Core) report(d image.Difference, encoded []byte) {
	keeper, ok := c.strategy.(systems.Keeper)
	recent := c.desyncs.recent
	if recent == nil || !ok {
		return
	}
	end, ok := keeper.Kept(d.Tick)
	if !ok {
		return
	}
	images, entries := []travel.Image{travel.ImageOf(end)}, []recording.Entry(nil)
	for f := max(1, d.Tick-min(d.Tick, recentTicks)); f < d.Tick; f++ {
		s, held := keeper.Kept(f)
		if !held || recent.Last() < d.Tick || f < recent.First() {
			continue
		}
		images = []travel.Image{travel.ImageOf(s), images[0]}
		for e := range recent.Between(d.Tick, images...).Entries(f+1, d.Tick) {
			entry := *e
			if s, held := keeper.Kept(e.Tick); held {
				entry.Checksum = s.Checksum()
			}
			entries = append(entries, entry)
		}
		break
	}
	c.config.Desynced(Desync{Difference: d, Strategy: c.welcome.Strategy, Seat: c.welcome.Seat,
		Mine:   travel.NewClip(c.header(), images, entries),
		Theirs: travel.NewClip(c.header(), []travel.Image{{Tick: d.Tick, Bytes: slices.Clone(encoded)}}, nil)})
}

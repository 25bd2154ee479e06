package client

import (
	"slices"

	"tendon/ecs/image"
	"tendon/net/session"
	"tendon/rollback/recording"
	"tendon/rollback/travel"
	"tendon/systems"
)

// Desync is what a client knows of a difference between its state and the server's. It shares nothing with the client.
type Desync struct {
	Difference image.Difference // the first; Here is the client's
	Strategy   string
	Seat       int // −1: none
	// Mine ends with the client's own state, Theirs is the server's of the same tick. Mine goes back as far as the strategy
	// keeps final states, with what entered the ticks.
	Mine, Theirs *travel.Clip
}

// recentTicks bounds how far back Desync.Mine goes: more than any strategy keeps states for.
const recentTicks = 256

// keepRecent makes the ring for Config.Desynced, if somebody is to be told.
func (c *Core) keepRecent() (err error) {
	if c.config.Desynced != nil {
		c.recent, err = travel.NewRing(travel.RingConfig{Header: c.header(), Ticks: recentTicks})
	}
	return err
}

// header says what match it is. A client does not know the seed, and begins with a state.
func (c *Core) header() recording.Header {
	build := c.config.Build
	if build == "" {
		build, _ = session.ThisBuild()
	}
	return recording.HeaderOf(c.config.Game, 0, build)
}

// report tells of a difference, before the server's state replaces the own one.
func (c *Core) report(d image.Difference, encoded []byte) {
	keeper, ok := c.half.(systems.Keeper)
	if c.recent == nil || !ok {
		return
	}
	end, ok := keeper.Kept(d.Tick)
	if !ok {
		return
	}
	images, entries := []travel.Image{travel.ImageOf(end)}, []recording.Entry(nil)
	for f := max(1, d.Tick-min(d.Tick, recentTicks)); f < d.Tick; f++ {
		s, held := keeper.Kept(f)
		if !held || c.recent.Last() < d.Tick || f < c.recent.First() {
			continue
		}
		images = []travel.Image{travel.ImageOf(s), images[0]}
		for e := range c.recent.Between(d.Tick, images...).Entries(f+1, d.Tick) { // with the own states' checksums, as far as they are kept
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

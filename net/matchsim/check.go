package matchsim

import (
	"math/bits"
	"slices"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/systems"
)

// Checks counts the comparisons of a client's confirmed states with the server's.
type Checks struct {
	// Checked counts the confirmed ticks that were compared, Mismatches those that differed.
	Checked, Mismatches uint64
	FirstMismatch       ecs.Tick
	// Rewritten counts the ticks that a recovered room changed although the client's present process had confirmed them and could
	// prove them. Replicas need no proof.
	Rewritten int

	next     ecs.Tick      // the next confirmed tick to compare
	furthest ecs.Tick      // that counts for Rewritten
	changed  image.Changed // scratch
}

func (k *Checks) count(f ecs.Tick, same bool) {
	k.Checked++
	if same {
		return
	}
	if k.Mismatches++; k.Mismatches == 1 {
		k.FirstMismatch = f
	}
}

// statesKept is the number of states of the server that are kept for clients that receive states. It is more than the
// ticks that any message takes.
const statesKept = 256

// record stores the checksum of a final state. A tick that becomes final twice must be the same both times.
func (m *Match) record(f systems.FinalTick) {
	for ecs.Tick(len(m.sums)) <= f.Tick {
		m.sums = append(m.sums, 0)
	}
	old, sum := m.sums[f.Tick], f.State.Checksum()
	m.sums[f.Tick] = sum
	if !m.Room.Strategy().Needs.Exact && f.World.Tick() == f.Tick {
		if f.World != m.world { // a switch has made another
			m.world = f.World
			m.states.Clear()
			for _, known := range m.known {
				known.Clear()
			}
		}
		whole := m.states.Save(f.World)
		for i, known := range m.known {
			known.Next(f.Tick).Redact(whole, nil, i-1, func(e ecs.Entity) bool { return f.World.Sees(i-1, e) })
		}
	}
	if old == 0 || old == sum {
		return
	}
	m.Rewritten++
	for _, c := range m.Clients {
		if c.furthest >= f.Tick {
			c.Rewritten++
		}
	}
}

// Checksum returns the checksum of the server's state of a tick. ok is false if the room has not computed it.
func (m *Match) Checksum(f ecs.Tick) (sum image.Checksum, ok bool) {
	if f == 0 || f >= ecs.Tick(len(m.sums)) {
		return 0, false
	}
	return m.sums[f], true
}

// knownState returns the server's state of tick f as the holder of a seat may know it, −1 for a spectator.
func (m *Match) knownState(seat int, f ecs.Tick) (*image.Snapshot, bool) {
	if m.known == nil {
		return m.states.At(f)
	}
	return m.known[seat+1].At(f)
}

// knownChecksum returns the checksum of knownState.
func (m *Match) knownChecksum(seat int, f ecs.Tick) (image.Checksum, bool) {
	if m.known == nil {
		return m.Checksum(f)
	}
	s, ok := m.known[seat+1].At(f)
	if !ok {
		return 0, false
	}
	return s.Checksum(), true
}

// compare compares the newly confirmed states with the server's.
func (c *Client) compare(now time.Duration) {
	if half, ok := c.Core.Strategy().(systems.Replicated); ok {
		c.compareReplica(half)
		return
	}
	_, _, newest, _ := c.Core.Snapshots(now)
	if newest.Empty() {
		return
	}
	until, state := newest.Tick(), func(f ecs.Tick) (*image.Snapshot, bool) { return newest, f == newest.Tick() }
	if half, ok := c.Core.Strategy().(systems.Keeper); ok {
		until, state = c.Core.Stats().Strategy.Confirmed, half.Kept
	}
	c.furthest, c.next = max(c.furthest, c.Core.Stats().Proven), min(c.next, until+1) // a resync may move the confirmed tick back
	for f := max(c.next, 1); f <= until; f++ {
		s, held := state(f)
		if want, known := c.match.knownChecksum(c.Seat(), f); held && known {
			c.count(f, s.Checksum() == want)
		}
	}
	c.next = until + 1
}

// compareReplica compares the newest replica with the server's state of its tick. Where the replica is partial, only the
// entities that were updated in that tick are compared.
func (c *Client) compareReplica(half systems.Replicated) {
	s, whole := half.Replica()
	if s.Empty() || s.Tick() < c.next {
		return
	}
	f := s.Tick()
	c.furthest, c.next = max(c.furthest, f), f+1
	want, ok := c.match.knownState(c.Seat(), f)
	if !ok {
		return
	}
	game := c.match.Game
	if whole {
		c.count(f, sameReplica(game, half, s, want) && (half.Places() || c.onlyMoving(s, want)))
		return
	}
	same := true
	for e := range s.Entities {
		if half.LastUpdate(e) == f {
			same = same && sameEntity(game, s, want, e, half.Places())
		}
	}
	c.count(f, same)
}

// onlyMoving reports whether two states differ only in the places of entities that are not at rest.
func (c *Client) onlyMoving(a, b *image.Snapshot) bool {
	c.changed.Find(b, a)
	for row := range c.changed.Rows {
		if e := a.EntityAt(row); !sameEntity(c.match.Game, a, b, e, false) || c.match.atRest(e, b.Tick()) {
			return false
		}
	}
	return true
}

// sameReplica reports whether two states are equal in everything that the strategy replicates. Inputs and the random
// source are never replicated; places only if the half has them.
func sameReplica(g *ecs.Game, half systems.Replicated, a, b *image.Snapshot) bool {
	x, y := a.ComponentChecksums(nil), b.ComponentChecksums(nil)
	for i, lacks := range systems.Unreplicated(nil, g, half) {
		if lacks {
			x[i] = y[i]
		}
	}
	return a.Players() == b.Players() && slices.Equal(x, y)
}

// sameEntity reports whether an entity is equal in two states, with its place or but for it.
func sameEntity(g *ecs.Game, a, b *image.Snapshot, e ecs.Entity, place bool) bool {
	here, set, values := a.AppendScalars(nil, e.Row)
	there, set2, values2 := b.AppendScalars(nil, e.Row)
	if here != there || set != set2 {
		return false
	}
	for ; set != 0; set &= set - 1 {
		for _, s := range g.Schema().Components[bits.TrailingZeros64(uint64(set))].Scalars() {
			if (place || !s.Place) && values[0] != values2[0] {
				return false
			}
			values, values2 = values[1:], values2[1:]
		}
	}
	return true
}

// atRest reports whether an entity has been in one place for so long, up to tick f of the server, that every replica
// has it there.
func (m *Match) atRest(e ecs.Entity, f ecs.Tick) bool {
	var now ecs.Motion
	for k := range ecs.Tick(systems.RestTime*time.Duration(m.Game.TickRate)/time.Second) + 1 {
		s, ok := m.states.At(f - k)
		if !ok {
			return false
		}
		before, ok := s.Motion(e)
		if k == 0 {
			now = before
		}
		if !ok || before != now || now.Vel != (fixed.Vec3{}) {
			return false
		}
	}
	return true
}

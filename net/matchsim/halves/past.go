package halves

import (
	"math/rand/v2"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// CheckPast compares the confirmed ticks that a client keeps with the server's, forks one of them and follows the match from
// there. No state of the client changes. ticks is the number of ticks that were compared, and back the age of the fork. The
// client must be a systems.Keeper and an ecs.Past.
func (m *Match) CheckPast(p *Peer, r *rand.Rand) (ticks, back int) {
	m.T.Helper()
	half, kept := p.Half.(ecs.Past), p.keptTicks()
	if len(kept) == 0 {
		return 0, 0
	}
	content := m.comparePast(p, kept)
	f := kept[0] + ecs.Tick(r.IntN(int(kept[len(kept)-1]-kept[0])+1)) // perhaps not kept, but computed again
	fork, ok := half.Fork(f)
	if !ok {
		f = kept[r.IntN(len(kept))]
		fork, ok = half.Fork(f)
	}
	if !ok {
		m.T.Fatalf("client %d keeps [%d, %d] and does not fork tick %d", p.ID, kept[0], kept[len(kept)-1], f)
	}
	for {
		m.wantSum(p, "fork", fork.Tick(), sumOf(fork))
		if !half.Follow(fork) {
			break
		}
		ticks++
	}
	if last := kept[len(kept)-1]; fork.Tick() < last {
		m.T.Fatalf("client %d: a fork of tick %d follows to %d of %d", p.ID, f, fork.Tick(), last)
	}
	for range 3 {
		fork.Step(ecs.TickInputs{}) // other inputs than in the match
		for e := range Steered.All(fork) {
			e.A.Pos.X += 1 << 16
		}
	}
	if m.comparePast(p, kept) != content {
		m.T.Fatalf("client %d: a fork of tick %d changed the states of the client", p.ID, f)
	}
	return ticks, int(kept[len(kept)-1] - f)
}

// keptTicks returns the final ticks whose states a client keeps, ascending.
func (p *Peer) keptTicks() (kept []ecs.Tick) {
	last := p.Half.Stats().Confirmed
	for f := last - min(last, 1<<10); f <= last; f++ {
		if _, ok := p.Half.(systems.Keeper).Kept(f); ok {
			kept = append(kept, f)
		}
	}
	return kept
}

// comparePast compares the kept states with the server's, and returns the sum of their checksums and the world's.
func (m *Match) comparePast(p *Peer, kept []ecs.Tick) image.Checksum {
	m.T.Helper()
	total := sumOf(p.World)
	for _, f := range kept {
		s, ok := p.Half.(systems.Keeper).Kept(f)
		if !ok {
			m.T.Fatalf("client %d lost the state of tick %d", p.ID, f)
		}
		m.wantSum(p, "ring", f, s.Checksum())
		total += s.Checksum()
	}
	return total
}

// wantSum fails the test if a client's state of a tick is not the server's.
func (m *Match) wantSum(p *Peer, where string, f ecs.Tick, sum image.Checksum) {
	m.T.Helper()
	if want, known := m.Tick(f); known && f > 0 && f <= p.Half.Stats().Confirmed && sum != want.Sum {
		m.T.Fatalf("client %d, %s: tick %d: checksum %x, the server has %x", p.ID, where, f, sum, want.Sum)
	}
}

func sumOf(w *ecs.World) image.Checksum {
	var s image.Snapshot
	w.Image().Save(&s)
	defer s.Release()
	return s.Checksum()
}

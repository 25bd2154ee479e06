package authority

import (
	"fmt"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems/state"
)

// Sight is the match as some peers may know it: its states, their events and their changes. Everything that a peer is sent about
// the state comes from its Sight. In a game without private data, all peers have that of the server, which is the match itself.
// Otherwise each seat has a Sight of redacted states, and spectators have one: see image.Snapshot.Redact.
type Sight struct {
	States  *rollback.Snapshots // of the last ticks up to Done
	Events  eventLog            // of the last ticks; empty without Config.Events
	Changed image.Changed       // of the last tick, once FindChanges has run
	Changes *state.Changes      // nil without Config.Replicates

	kept     []*keptState // see Server.Keep
	viewer   int          // a seat, −1 for spectators
	sees     func(ecs.Entity) bool
	happened []image.EmittedEvent // of the last tick
}

// newSight returns an empty Sight.
func newSight[C, P any](c *Config[C, P], w *ecs.World) (v Sight, err error) {
	v.States = rollback.NewSnapshots(c.History)
	if c.Replicates {
		v.Changes, err = state.NewChanges(w.Game())
	}
	return v, err
}

// makeSights makes the sights of a game with private data.
func (s *Server[C, P]) makeSights(c *Config[C, P]) error {
	w := c.Server.World
	if !w.Image().Schema().HasPrivate() {
		return nil
	}
	if !c.Hides {
		return fmt.Errorf("the game %q has private data, and this strategy sends each peer the whole match", s.Game.Name)
	}
	for viewer := -1; viewer < s.Game.MaxPlayers; viewer++ {
		v, err := newSight(c, w)
		if err != nil {
			return err
		}
		v.viewer, v.sees = viewer, func(e ecs.Entity) bool { return w.Sees(viewer, e) }
		s.sights = append(s.sights, &v)
	}
	return nil
}

// sightOf returns the Sight of a seat, −1 for spectators.
func (s *Server[C, P]) sightOf(seat int) *Sight {
	if s.sights == nil {
		return &s.Sight
	}
	return s.sights[seat+1]
}

// EachSight calls f for the Sight of the server and for those of the peers.
func (s *Server[C, P]) EachSight(f func(*Sight)) {
	f(&s.Sight)
	for _, v := range s.sights {
		f(v)
	}
}

// redact makes the redacted states of the tick in Step, whose state the world is in.
func (s *Server[C, P]) redact() {
	for _, v := range s.sights {
		before, ok := v.States.At(s.Step.State.Tick() - 1)
		if !ok {
			before = &image.Snapshot{}
		}
		v.States.Next(s.Step.State.Tick()).Redact(s.Step.State, before, v.viewer, v.sees)
	}
}

// Known returns State(Done) as the holder of a seat may know it, −1 for a spectator. It returns nil if nothing is private.
func (s *Server[C, P]) Known(seat int) *image.Snapshot {
	if s.sights == nil {
		return nil
	}
	known, ok := s.sights[seat+1].States.At(s.done)
	if !ok {
		panic("authority: the state as a peer may know it is missing: a strategy that hides data saves every tick")
	}
	return known
}

// addEvents takes the events of the world's last tick.
func (v *Sight) addEvents(w *ecs.World) {
	if v.sees == nil {
		v.happened = w.Events()
	} else {
		v.happened = image.KnownEvents(v.happened[:0], w.Events(), v.viewer)
	}
	v.Events.add(w.Tick(), v.happened, nil)
}

// keptState is a state of Keep. Bytes visits all pages, so bytes is computed once.
type keptState struct {
	image.Snapshot
	bytes int
}

// keep keeps the states of these ticks that v has, and releases others, and those of ticks before oldest.
func (v *Sight) keep(states []ecs.Tick, oldest ecs.Tick) {
	v.kept = slices.DeleteFunc(v.kept, func(k *keptState) bool {
		drop := k.Tick() < oldest || !slices.Contains(states, k.Tick())
		if drop {
			k.Release()
		}
		return drop
	})
	for _, f := range states {
		if _, ok := v.keptState(f); ok {
			continue
		}
		if state, ok := v.States.At(f); ok {
			k := &keptState{bytes: state.Bytes()}
			k.Hold(state)
			v.kept = append(v.kept, k)
		}
	}
}

func (v *Sight) keptState(f ecs.Tick) (state *keptState, ok bool) {
	for _, k := range v.kept {
		if k.Tick() == f {
			return k, true
		}
	}
	return nil, false
}

// bytesAt returns the bytes of StateAt(f).
func (v *Sight) bytesAt(f ecs.Tick) (bytes int, ok bool) {
	if k, ok := v.keptState(f); ok {
		return k.bytes, true
	}
	if state, ok := v.States.At(f); ok {
		return state.Bytes(), true
	}
	return 0, false
}

// StateAt returns the state of tick f, of one of the last ticks or kept by Server.Keep.
func (v *Sight) StateAt(f ecs.Tick) (state *image.Snapshot, ok bool) {
	if state, ok = v.States.At(f); ok {
		return state, true
	}
	if k, ok := v.keptState(f); ok {
		return &k.Snapshot, true
	}
	return nil, false
}

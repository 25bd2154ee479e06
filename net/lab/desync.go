package lab

import (
	"fmt"
	"slices"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
)

// Desync reports a desync that Live.Desync caused.
type Desync struct {
	Outcome Outcome `json:"outcome"`  // how it ended, or that it goes on
	After   float64 `json:"after_ms"` // of virtual time; so far, if it goes on
	// The first difference, where the strategy finds it: Here is the client's value, There the server's.
	Component string `json:"component,omitempty"`
	Entity    string `json:"entity,omitempty"`
	Field     string `json:"field,omitempty"`
	Here      string `json:"here,omitempty"`
	There     string `json:"there,omitempty"`
	Tick      uint64 `json:"tick,omitempty"`
}

// Outcome is how a desync ended; "": none was caused.
type Outcome string

// The outcomes.
const (
	Pending   Outcome = "pending"   // it goes on, undetected
	Found     Outcome = "found"     // the server compared checksums and sent its own state
	Corrected Outcome = "corrected" // the next states from the server overwrote it
	Vanished  Outcome = "vanished"  // the game overwrote it before checksums were compared
	Absent    Outcome = "absent"    // there was no avatar to move
	Adopted   Outcome = "adopted"   // the client has authority, so the server adopted it
	Kept      Outcome = "kept"      // the client keeps its wrong state, since nothing corrects it
	Immune    Outcome = "immune"    // the client computes nothing that could differ
)

// plantedDesync causes a desync on player 0's client and follows it.
type plantedDesync struct {
	Desync
	entity    ecs.Entity // that the fault moves
	from      ecs.Tick   // of the fault
	applied   bool       // the tick was computed
	since     time.Duration
	resyncs   uint64 // of the client before
	corrected bool   // the present was corrected since
}

const faultWay = 3 // distance by which a fault moves the avatar, in world units

// causeDesync moves the avatar towards the mean position of all entities, in the next tick that the client computes.
func (w *liveMatch) causeDesync() {
	s := w.own.Core.Stats()
	w.desync = plantedDesync{Desync: Desync{Outcome: Absent}, from: s.Strategy.Present + 1, since: w.Net.Now(), resyncs: s.Resyncs}
	if !w.own.Live() {
		return
	}
	d, way := &w.desync, fixed.Vec3{X: fixed.FromInt(faultWay)}
	_, current, _, _ := w.own.Core.Snapshots(w.own.Now())
	sum, count, at := 0.0, 0.0, 0.0
	for e := range current.Entities {
		m, ok := current.Motion(e)
		if !ok {
			continue
		}
		sum, count = sum+m.Pos.X.Float(), count+1
		if d.entity.IsZero() && e.Owner() == ecs.OwnedBy(w.own.seat) {
			d.entity, at = e, m.Pos.X.Float()
		}
	}
	if d.entity.IsZero() {
		return
	}
	if at*count > sum {
		way.X = -way.X
	}
	d.Outcome = Pending
	w.own.Fault(d.from, func(world *ecs.World) {
		if d.Outcome == Pending {
			d.applied = world.Image().Displace(d.entity, way) || d.applied
		}
	})
}

const (
	outcomeWait    = 3 * time.Second  // for a strategy without checksums to correct a desync
	checksumWait   = 10 * time.Second // for a strategy with checksums to find it
	maxDifferences = 100              // among which the avatar's is searched
)

// followDesync finds the outcome of a pending desync.
func (w *liveMatch) followDesync() {
	d := &w.desync
	if d.Outcome != Pending {
		return
	}
	w.compareStates()
	passed := w.Net.Now() - d.since
	d.After = milliseconds(passed)
	found := w.own.Core.Desyncs()
	switch {
	case len(found) > 0 && w.own.Core.Stats().Resyncs > d.resyncs && found[len(found)-1].Tick >= d.from:
		d.Outcome = Found
		if d.Component == "" {
			d.name(found[len(found)-1])
		}
	case w.strategy.Needs.Exact && passed < checksumWait:
	case w.strategy.Needs.Exact:
		d.Outcome = Vanished
	case d.corrected:
		d.Outcome = Corrected
	case passed <= outcomeWait:
	case !d.applied:
		d.Outcome = Immune
	case w.reading.Own > faultWay/2.0:
		d.Outcome = Kept
	case w.strategy.Predicts: // the server computes the avatar's position, so it cannot have adopted one
		d.Outcome = Vanished
	default:
		d.Outcome = Adopted
	}
}

// compareStates finds the first difference between the client's confirmed state and the server's state of the same tick.
// The client itself reports a later one, after one difference has led to others.
func (w *liveMatch) compareStates() {
	d := &w.desync
	if !w.strategy.Needs.Exact || d.Component != "" {
		return
	}
	_, _, confirmed, _ := w.own.Core.Snapshots(w.own.Now())
	if confirmed.Empty() || confirmed.Tick() < d.from {
		return
	}
	server, ok := w.states.At(confirmed.Tick())
	if !ok {
		return
	}
	all := image.Differences(confirmed, server, maxDifferences)
	if len(all) > 0 {
		of := slices.IndexFunc(all, func(x image.Difference) bool { return x.Entity == d.entity })
		d.name(all[max(of, 0)])
	}
}

// name stores a difference. Its entity is described to a reader of the page.
func (d *Desync) name(of image.Difference) {
	d.Component, d.Field, d.Here, d.There, d.Tick = of.Component, of.Field, of.Here, of.There, uint64(of.Tick)
	if of.Entity.IsZero() {
		return
	}
	d.Entity = fmt.Sprintf("of the world, born in tick %d", of.Entity.Born)
	if p, ok := of.Entity.Owner().Player(); ok {
		d.Entity = fmt.Sprintf("of player %d, born in tick %d", p, of.Entity.Born)
	}
}

package lab

import (
	"fmt"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
)

// Desync reports a desync that Live.Desync caused.
type Desync struct {
	// Outcome is how it ended, or that it goes on.
	Outcome Outcome `json:"outcome"`
	// After is how long it lasted, in ms of virtual time; so far, if it goes on.
	After float64 `json:"after_ms"`
	// Component and the fields below name the first difference, where the strategy finds it. Here is the client's value,
	// There the server's.
	Component string `json:"component,omitempty"`
	Entity    string `json:"entity,omitempty"`
	Field     string `json:"field,omitempty"`
	Here      string `json:"here,omitempty"`
	There     string `json:"there,omitempty"`
	Tick      uint64 `json:"tick,omitempty"`
}

// Outcome is how a desync ended.
type Outcome string

// The outcomes.
const (
	NoDesync  Outcome = ""          // none was caused
	Pending   Outcome = "pending"   // it goes on, undetected
	Found     Outcome = "found"     // the server compared checksums and sent its own state
	Corrected Outcome = "corrected" // the next states from the server overwrote it
	Vanished  Outcome = "vanished"  // the game overwrote it before checksums were compared
	Absent    Outcome = "absent"    // there was no avatar to move
	Adopted   Outcome = "adopted"   // the client has authority, so the server adopted it
	Immune    Outcome = "immune"    // the client computes nothing that could differ
)

// plantedDesync causes a desync on player 0's client and follows it.
type plantedDesync struct {
	fault
	game      *ecs.Game // the client's, with the fault
	report    Desync
	since     time.Duration // when the fault was set
	resyncs   uint64        // of the client by then
	corrected bool          // the present was corrected since
}

// fault moves an entity in one tick, whenever that tick is computed. It runs after the last system of one client's copy of
// the game, as a bug in a game would.
type fault struct {
	tick    ecs.Tick // 0: none
	entity  ecs.Entity
	way     fixed.Vec3
	applied bool // the tick was computed
}

// faultWay is the distance by which a fault moves the avatar, in world units.
const faultWay = 3

// apply moves the entity in the fault's tick.
func (t *fault) apply(w *ecs.World) {
	if t.tick != 0 && w.Tick() == t.tick {
		t.applied = w.Image().Displace(t.entity, t.way) || t.applied
	}
}

// arm sets the fault for a player's avatar in tick f, towards the mean position of all entities. It reports whether s has
// an avatar.
func (t *fault) arm(s *image.Snapshot, seat ecs.Player, f ecs.Tick) bool {
	*t = fault{tick: f, way: fixed.Vec3{X: fixed.FromInt(faultWay)}}
	sum, count, at := 0.0, 0.0, 0.0
	for e := range s.Entities {
		m, ok := s.Motion(e)
		if !ok {
			continue
		}
		sum, count = sum+m.Pos.X.Float(), count+1
		if t.entity.IsZero() && e.Owner() == ecs.OwnedBy(seat) {
			t.entity, at = e, m.Pos.X.Float()
		}
	}
	if t.entity.IsZero() {
		*t = fault{}
		return false
	}
	if at*count > sum {
		t.way.X = -t.way.X
	}
	return true
}

// causeDesync arms the fault for the next tick that the client computes.
func (w *liveMatch) causeDesync() {
	d, core := &w.desync, w.own.Core
	d.since, d.resyncs, d.corrected = w.Net.Now(), core.Stats().Resyncs, false
	d.report = Desync{Outcome: Absent}
	if !w.own.Live() {
		return
	}
	_, current, _, _ := core.Snapshots(w.own.Now())
	if d.arm(current, w.own.seat, core.Stats().Strategy.Present+1) {
		d.report.Outcome = Pending
	}
}

const (
	// outcomeWait is how long a strategy without checksums has to correct a desync.
	outcomeWait = 3 * time.Second
	// checksumWait is how long a strategy with checksums has to find it.
	checksumWait = 10 * time.Second
)

// followDesync finds the outcome of a pending desync.
func (w *liveMatch) followDesync() {
	d := &w.desync
	if d.report.Outcome != Pending {
		return
	}
	w.compareStates()
	passed := w.Net.Now() - d.since
	d.report.After = milliseconds(passed)
	s := w.own.Core.Stats()
	found := w.own.Core.Desyncs()
	switch {
	case len(found) > 0 && s.Resyncs > d.resyncs && found[len(found)-1].Tick >= d.tick:
		if d.report.Outcome = Found; d.report.Component == "" {
			d.report.name(found[len(found)-1])
		}
	case w.strategy.Needs.Exact && passed < checksumWait:
		return
	case w.strategy.Needs.Exact:
		d.report.Outcome = Vanished
	case d.corrected:
		d.report.Outcome = Corrected
	case passed > outcomeWait && d.applied:
		d.report.Outcome = Adopted
	case passed > outcomeWait:
		d.report.Outcome = Immune
	default:
		return
	}
	d.tick = 0
}

// compareStates finds the first difference between the client's confirmed state and the server's state of the same tick.
// The client itself reports a later one, after one difference has led to others.
func (w *liveMatch) compareStates() {
	d := &w.desync
	if !w.strategy.Needs.Exact || d.report.Component != "" {
		return
	}
	_, _, confirmed, _ := w.own.Core.Snapshots(w.own.Now())
	if confirmed.Empty() || confirmed.Tick() < d.tick {
		return
	}
	server, ok := w.states.At(confirmed.Tick())
	if !ok {
		return
	}
	all := image.Differences(confirmed, server, maxDifferences)
	for _, x := range all {
		if x.Entity == d.entity {
			d.report.name(x)
			return
		}
	}
	if len(all) > 0 {
		d.report.name(all[0])
	}
}

// maxDifferences is the number of differences among which the avatar's is searched.
const maxDifferences = 100

// name stores a difference.
func (d *Desync) name(of image.Difference) {
	d.Component, d.Entity, d.Field, d.Here, d.There, d.Tick = of.Component, entityName(of.Entity), of.Field, of.Here, of.There, uint64(of.Tick)
}

// entityName describes an entity to a reader of the page.
func entityName(e ecs.Entity) string {
	if e.IsZero() {
		return ""
	}
	owner := "the world"
	if p, ok := e.Owner().Player(); ok {
		owner = fmt.Sprintf("player %d", p+1)
	}
	return fmt.Sprintf("of %s, born in tick %d", owner, e.Born)
}

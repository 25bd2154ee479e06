package ecs

import (
	"github.com/yohamta/donburi"
)

// View is what a game draws: a world of interpolated copies, in step entity by entity with the simulation. Draw from
// it with queries over Sim or with donburi code over World; both see the same values.
//
// What is written into a View changes nothing in the simulation and lasts until the next Update or Compose. The game's own
// components that Screen.Dress adds to entries of World stay for as long as the entity is shown, whatever is rewound
// meanwhile. A View is used on the goroutine of the world whose snapshots it shows.
type View struct {
	World donburi.World // the copies as donburi entities, and whatever else the game creates to draw
	Sim   *World        // the copies as a world: read it, do not step, save or restore it
	Tick  Tick          // of the state that Alpha leads to
	Alpha float64       // how far the way from the state before Tick to Tick is shown, in [0, 1]
	Seat  int           // the player who watches, −1 for a spectator

	source *image // whose pages the copies were made of; Sim's live pages have them as bases
}

// NewView returns an empty view for worlds of the game.
func NewView(g *Game) (*View, error) {
	bare := *g
	bare.Setup = nil
	w, err := NewWorld(&bare, 0)
	if err != nil {
		return nil, err
	}
	w.game = g
	w.bridge = newBridge(w, true)
	v := &View{Seat: -1, Sim: w, World: w.Donburi()}
	if undress := g.Screen.Undress; undress != nil {
		w.bridge.leave = func(entry *donburi.Entry) { undress(v, entry) }
	}
	return v, nil
}

// Entry returns the donburi entry of e, or nil if e is not shown. An entity keeps its entry until its set of
// simulated components changes, and in a view even then: the *donburi.Entry and what Dress added stay as they are.
func (v *View) Entry(e Entity) *donburi.Entry { return v.Sim.Entry(e) }

// EntityOf returns the entity that an entry of World stands for; ok is false for one that the game created itself.
func (v *View) EntityOf(entry *donburi.Entry) (e Entity, ok bool) { return EntityOf(entry) }

// Update shows the moment a fraction alpha ∈ [0, 1] of the way from prev to cur, two states of one world.
//
// The entities are those of cur. A component with a Lerp role has the value between prev and cur if its entity has it
// in both, else cur's. A ConfirmedOnly component is as the state confirmed has it: an entity that is not in it, or
// has no such component in it, is shown without. All else, resources, players and inputs too, is cur's. Screen.Dress is
// called for each entity that was not shown before, in the order of rows.
//
// prev and confirmed may be empty or nil. An empty cur shows nothing. The view keeps no snapshot, only pages: those
// may be released or saved into at once.
func (v *View) Update(prev, cur, confirmed *Snapshot, alpha float64) {
	v.show(shown{prev: prev, cur: cur, confirmed: confirmed, own: everyRow}, alpha)
	v.Dress()
}

// shown are the states that a view is made of. own are the rows that are as cur has them, remote is where the others
// come from.
type shown struct {
	prev, cur, confirmed, remote *Snapshot
	own                          *RowSet
}

// show makes Sim what the states say.
func (v *View) show(s shown, alpha float64) {
	if s.cur.Empty() { // nothing is one's own
		s = shown{cur: s.remote}
		s.remote = s.cur
	}
	if !s.cur.Empty() && s.cur.image != v.source {
		v.leaveSource()
		v.source = s.cur.image
	}
	for _, of := range [...]*Snapshot{s.prev, s.cur, s.confirmed, s.remote} {
		v.mustShow(of)
	}
	v.Alpha, v.Tick = min(max(alpha, 0), 1), 0
	if !s.cur.Empty() {
		v.Tick = s.cur.tick
	}
	if v.copyPages(&s) {
		v.Sim.structure.changes++
	}
	for i := range v.Sim.image.columns {
		c := &v.Sim.image.columns[i]
		role := &c.info.roles
		switch {
		case role.confirmedOnly:
			v.hideUnconfirmed(c, &s)
		case role.lerp != nil && !s.prev.Empty() && v.Alpha < 1:
			v.blend(c, role.lerp, &s)
		}
	}
	v.Sim.image.dirty = v.Sim.image.dirty[:0]
}

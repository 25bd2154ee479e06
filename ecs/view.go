package ecs

import (
	"github.com/yohamta/donburi"

	"tendon/ecs/image"
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

	Picture *image.Picture // Sim's image, for showing entities on timelines of their own
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
	v := &View{Seat: -1, Sim: w, World: w.Donburi(), Picture: image.NewPicture(w.image)}
	if undress := g.Screen.Undress; undress != nil {
		w.bridge.leave = func(entry *donburi.Entry) { undress(v, entry) }
	}
	return v, nil
}

// Update shows the moment a fraction alpha ∈ [0, 1] of the way from prev to cur, two states of one world.
//
// The entities are those of cur. A component with a Lerp role has the value between prev and cur if its entity has it
// in both, else cur's. A ConfirmedOnly component is as the state confirmed has it: an entity that is not in it, or
// has no such component in it, is shown without. All else, resources, players and inputs too, is cur's. Screen.Dress is
// called for each entity that was not shown before, in the order of rows.
//
// prev and confirmed may be empty or nil. An empty cur shows nothing. The view keeps no snapshot, only pages: those
// may be released or saved into at once.
func (v *View) Update(prev, cur, confirmed *image.Snapshot, alpha float64) {
	v.Compose(image.Shown{Prev: prev, Cur: cur, Confirmed: confirmed, Own: image.EveryRow()}, alpha)
	v.Dress()
}

// Compose begins a picture of several timelines: the rows of s.Own are shown as Update shows them, all others as s.Remote
// has them, the state of a server as it was a while ago. Resources, players and inputs are s.Cur's. An empty s.Cur shows
// s.Remote alone, with its resources; an empty s.Remote shows only own rows.
//
// Methods of Picture then show single entities where their own timelines have them; Dress ends the picture. All
// snapshots are of one world, and as with Update they may be released at once.
func (v *View) Compose(s image.Shown, alpha float64) {
	v.Picture.Show(s, alpha)
	v.Alpha, v.Tick = min(max(alpha, 0), 1), 0
	if s.Cur.Empty() {
		s.Cur = s.Remote
	}
	if !s.Cur.Empty() {
		v.Tick = s.Cur.Tick()
	}
}

// Dress ends a picture that Compose began: World is brought in step with Sim, and the game dresses the entities that
// were not shown before, in the order of rows.
func (v *View) Dress() {
	v.Picture.Invalidate()
	b := v.Sim.bring()
	if dress := v.Sim.game.Screen.Dress; dress != nil {
		for _, e := range b.appeared {
			if entry := v.Sim.Entry(e); entry != nil { // else it was hidden again
				dress(v, entry)
			}
		}
	}
	b.appeared = b.appeared[:0]
}

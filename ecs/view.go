package ecs

import (
	"time"

	"github.com/yohamta/donburi"

	"tendon/ecs/image"
)

// View is the state that a game draws: a world of interpolated copies that follows the simulation. Draw from it with
// queries on Sim or with donburi code on World; both have the same values.
//
// A write into a View does not change the simulation and lasts until the next Update or Compose. Components that
// Screen.Dress adds to entries of World stay as long as the entity is shown, also across rewinds. Use a View on the
// goroutine of the world whose snapshots it shows.
type View struct {
	World  donburi.World // the copies as donburi entities, and further entities that the game creates to draw
	Sim    *World        // the copies as a world: read it, do not step, save or restore it
	Tick   Tick          // of the state that Alpha leads to
	Alpha  float64       // fraction of the way from the state before Tick to Tick, in [0, 1]
	Seat   int           // player who watches, −1 for a spectator
	Roster []Seated      // the players by seat; the slice may be shorter than Game.MaxPlayers: see Seated
	Past   Past          // of the match; nil where the client does not simulate it

	// Orders takes the orders that the player gives in Screen.Draw. The client sends them after the frame.
	Orders *OrderQueue

	Picture *image.Picture // the image of Sim, for showing single entities on other timelines
}

// Seated describes the player in a seat, as the server reports it. The zero Seated is an empty seat, or not known.
type Seated struct {
	Name      string        // "": the player has none
	Ping      time.Duration // round trip that the server measured; 0: not known
	Connected bool          // false: the connection is lost, and the seat is kept for the player
	Bot       bool          // the connect token says that a program plays
}

// Seated returns the player in a seat.
func (v *View) Seated(p Player) (s Seated) {
	if int(p) < len(v.Roster) {
		s = v.Roster[p]
	}
	return s
}

// Past is the confirmed past of a match. A second world simulates it again, for example for a kill cam. Screen.History sets
// its length.
type Past interface {
	// Fork returns a second world in the confirmed state of tick f, with memory of its own: neither world changes the
	// other. ok is false if the state is not kept.
	Fork(f Tick) (w *World, ok bool)
	// Follow computes the next tick of a forked world from the final inputs and orders of that tick. ok is false, and
	// nothing is done, if these are not kept or not known yet.
	Follow(w *World) (ok bool)
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
	v := &View{Seat: -1, Sim: w, World: w.Donburi(), Picture: image.NewPicture(w.image), Orders: NewOrderQueue(g)}
	if undress := g.Screen.Undress; undress != nil {
		w.bridge.leave = func(entry *donburi.Entry) { undress(v, entry) }
	}
	return v, nil
}

// Update shows the moment a fraction alpha ∈ [0, 1] of the way from prev to cur, two states of one world.
//
// The entities are those of cur. A component with a Lerp role is interpolated between prev and cur if its entity has it in
// both; otherwise its value is cur's. ConfirmedOnly components have their values in the state confirmed: an entity that is
// not in it, or lacks the component there, is shown without. Resources, players and inputs are cur's. Screen.Dress is
// called for each entity that was not shown before, in the order of rows.
//
// prev and confirmed may be empty or nil. An empty cur shows nothing. The view keeps no snapshot: all may be released or
// saved into at once.
func (v *View) Update(prev, cur, confirmed *image.Snapshot, alpha float64) {
	v.Compose(image.Shown{Prev: prev, Cur: cur, Confirmed: confirmed, Own: image.EveryRow()}, alpha)
	v.Dress()
}

// Compose begins a picture of several timelines. The rows of s.Own are shown as Update shows them. All other rows have
// their values in s.Remote, an older state of the server. Resources, players and inputs are s.Cur's. If s.Cur is empty, all
// is s.Remote's. If s.Remote is empty, only own rows are shown.
//
// Methods of Picture then show single entities on other timelines, and Dress ends the picture. All snapshots are of one
// world, and may be released at once.
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

// Dress ends a picture that Compose began: it updates World from Sim and calls Screen.Dress for each entity that was not
// shown before, in the order of rows.
func (v *View) Dress() {
	v.Picture.Invalidate()
	b := v.Sim.bring()
	if dress := v.Sim.game.Screen.Dress; dress != nil {
		for _, e := range b.appeared {
			if entry := v.Sim.Entry(e); entry != nil { // else it has left again
				dress(v, entry)
			}
		}
	}
	b.appeared = b.appeared[:0]
}

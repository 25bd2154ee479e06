package rules

import (
	"math"

	"tendon/ecs"
	"tendon/ecs/fixed"
)

// Camera is the part of the level that a view shows. A player's follows the own avatar, softly and within the level; a spectator's shows the
// whole level beside the score table. It moves with the moment that is shown, so it keeps no clock.
type Camera struct {
	x, y, height float64 // metres; the middle, and what is shown from top to bottom
	at           float64 // the moment of the last picture
	seat         int     // who watched then
	placed       bool
}

const (
	followHeight = 20.0 // metres, from top to bottom
	followLead   = 2.5  // metres that a player sees farther to where they look
	followLag    = 9.0  // ticks after which the camera has covered 63 % of its distance
	followMost   = 15.0 // metres: from there on, it cuts
	followEdge   = 1.0  // metres shown outside the level; on the left, as much as the score table hides
)

// moment returns what a view shows, in ticks.
func moment(v *ecs.View) float64 { return float64(v.Tick) - 1 + v.Alpha }

// frame moves the camera on to the moment of the view.
func (k *Camera) frame(v *ecs.View, aspect float64) {
	now := moment(v)
	x, y, ok := lookedAt(v)
	if !ok {
		*k = wholeLevel(aspect)
		return
	}
	x = within(x, followHeight*aspect/2, -followHeight*tableWidth/hudHeight, float64(level.Columns*squareSize)+followEdge)
	y = within(y, followHeight/2, -followEdge, float64(level.Rows*squareSize)+followEdge)
	passed := now - k.at
	if !k.placed || k.seat != v.Seat || passed < 0 || math.Hypot(x-k.x, y-k.y) > followMost {
		k.x, k.y = x, y
	}
	share := 1 - math.Exp(-max(passed, 0)/followLag)
	k.x, k.y = k.x+share*(x-k.x), k.y+share*(y-k.y)
	k.height, k.at, k.seat, k.placed = followHeight, now, v.Seat, true
}

// lookedAt returns the point that a player wants to see in the middle; ok is false for a spectator, and for a player who
// has not entered yet.
func lookedAt(v *ecs.View) (x, y float64, ok bool) {
	if v.Seat < 0 {
		return 0, 0, false
	}
	me := avatar(v.Sim, ecs.Player(v.Seat))
	b, ok := body.Read(v.Sim, me)
	l, _ := look.Read(v.Sim, me)
	x, y = at(flat(b.Pos).Add(l.Dir.Scale(fixed.FromFloat(followLead))))
	return x, y, ok
}

// within keeps half the picture's length to either side of p between two edges, or p in their middle where it does not
// fit.
func within(p, half, from, to float64) float64 {
	if 2*half > to-from {
		return (from + to) / 2
	}
	return min(max(p, from+half), to-half)
}

// wholeLevel shows the whole level beside the score table.
func wholeLevel(aspect float64) Camera {
	width, height := float64(level.Columns*squareSize)+2*followEdge, float64(level.Rows*squareSize)+2*followEdge
	room := max(aspect-tableWidth/hudHeight, aspect/2) // in heights of the picture
	k := Camera{height: max(height, width/room)}
	k.x = width/2 - followEdge - (aspect-room)*k.height/2
	k.y = height/2 - followEdge
	return k
}

package interp

import "tendon/systems"

// Ghost corrects the copy of a remote entity that is simulated here with the inputs of the server. A small difference stays,
// a medium one shrinks by a tenth per update, and a large one is corrected at once. Velocity is always the server's. The steps are Glenn Fiedler's ("Networked Physics", 2004).
type Ghost struct {
	// Unit is how many world units make a metre. Zero: 1.
	Unit float64
}

// Action is what a Ghost did.
type Action uint8

// The actions.
const (
	Kept    Action = iota // the difference is not worth it
	Blended               // a tenth of the way
	Snapped               // all of it
)

const (
	ghostIgnore = 0.1 // metres
	ghostSnap   = 2.0 // metres
	ghostShare  = 0.1 // of the difference per update
)

// Correct returns what the ghost is after an update in which it was simulated to be at own, and the server's state for
// the same moment is server's.
func (g Ghost) Correct(own, server Motion) (Motion, Action) {
	unit := g.Unit
	if unit == 0 {
		unit = 1
	}
	away := server.Pos.Sub(own.Pos)
	switch size := away.Len(); {
	case size <= ghostIgnore*unit:
		server.Pos = own.Pos
		return server, Kept
	case size <= ghostSnap*unit:
		server.Pos = own.Pos.Add(away.Scale(ghostShare))
		return server, Blended
	}
	return server, Snapped
}

// stickDecay is the time in which an input stick without updates returns to neutral, as in Rocket League.
const stickDecay = systems.Second * 150 / 1000

// Stick predicts an analogue axis whose newest known value was given missing ago: it goes back to neutral within 150 ms,
// in a straight line. Integers only, so a game may call it in a simulation. Buttons need no such thing: a missing input
// repeats what is held and clears what is marked as a press.
func Stick(axis int32, missing systems.Time) int32 {
	left := stickDecay - min(max(missing, 0), stickDecay)
	return int32(int64(axis) * int64(left) / int64(stickDecay))
}

package interp

import "tendon/systems"

// Glenn Fiedler's steps for the correction of a ghost ("Networked Physics", 2004).
const (
	ghostIgnore = 0.1 // metres
	ghostSnap   = 2.0 // metres
	ghostShare  = 0.1 // of the difference per update
)

// Ghost returns the corrected motion of a remote entity that is simulated here with the inputs of the server. own is the
// simulated motion and server the server's for the same moment. A small difference stays, a medium one shrinks by a tenth
// per update, and a large one is corrected at once. Velocity is always the server's. unit is the number of world units in a
// metre.
func Ghost(own, server Motion, unit float64) Motion {
	away := server.Pos.Sub(own.Pos)
	switch size := away.Len(); {
	case size <= ghostIgnore*unit:
		server.Pos = own.Pos
	case size <= ghostSnap*unit:
		server.Pos = own.Pos.Add(away.Scale(ghostShare))
	}
	return server
}

// stickDecay is the time in which an input stick without updates returns to neutral, as in Rocket League.
const stickDecay = systems.Second * 150 / 1000

// Stick predicts an analogue axis whose newest known value was given missing ago: it returns to neutral within 150 ms, in a
// straight line. It computes in integers, so a game may call it in a simulation.
func Stick(axis int32, missing systems.Time) int32 {
	left := stickDecay - min(max(missing, 0), stickDecay)
	return int32(int64(axis) * int64(left) / int64(stickDecay))
}

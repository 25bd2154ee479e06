package interp

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

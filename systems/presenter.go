package systems

import (
	"fmt"

	"tendon/ecs"
)

// Presenter is a client's half that says itself what a view shows: each entity on its own timeline, which is more than
// the two states that Client.View returns can tell.
type Presenter interface {
	// Present brings the view up to date with the moment. It is called once per frame of the display, after Frame.
	Present(v *ecs.View, now Time)
}

// Timeline is the moment at which a client has an entity.
type Timeline uint8

// The timelines.
const (
	Predicted    Timeline = iota // simulated here, ahead of the server, and put right by it
	Interpolated                 // where it was a short while ago, between two states of the server's
	Reckoned                     // where it will have gone, by how it moved
	Confirmed                    // as in the newest state of the server's
	timelines
)

// String returns the timeline's name.
func (t Timeline) String() string {
	if t >= timelines {
		return fmt.Sprintf("timeline %d", uint8(t))
	}
	return [timelines]string{"predicted", "interpolated", "reckoned", "confirmed"}[t]
}

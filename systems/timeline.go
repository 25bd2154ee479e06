package systems

import "fmt"

// Timeline is the moment at which a client shows an entity.
type Timeline uint8

// The timelines.
const (
	Predicted    Timeline = iota // simulated here, ahead of the server, and corrected by it
	Interpolated                 // between two received states, a short while ago
	Reckoned                     // extrapolated to now from its last motion record
	Confirmed                    // as in the newest received state
	timelines
)

// String returns the timeline's name.
func (t Timeline) String() string {
	if t >= timelines {
		return fmt.Sprintf("timeline %d", uint8(t))
	}
	return [timelines]string{"predicted", "interpolated", "reckoned", "confirmed"}[t]
}

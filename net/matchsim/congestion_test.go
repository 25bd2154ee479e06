package matchsim_test

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/relay"
)

// narrow returns a line of so many kbit/s each way, with a queue of a second.
func narrow(kilobits int) simnet.Profile {
	p := simnet.Path{Delay: 25 * time.Millisecond, Bandwidth: kilobits * 125, QueueBytes: kilobits * 125}
	return simnet.Symmetric("narrow", "narrow", p)
}

// onLine runs a match over links in which one client has a narrow line both ways and three have good ones.
func onLine(t *testing.T, strategy systems.Strategy, kilobits int, run func(m *matchsim.Match, c *matchsim.Client)) {
	m, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Strategy: strategy, Seed: 4, Links: true})
	if err != nil {
		t.Fatal(err)
	}
	good, _ := simnet.ByName("P2")
	for range 3 {
		m.Join(matchsim.Plan{Profile: good})
	}
	m.Run(2 * time.Second)
	run(m, m.Join(matchsim.Plan{Profile: narrow(kilobits)}))
	if err := m.Err(); err != nil {
		t.Error(err)
	}
}

// behind runs the match. It returns how far the newest tick that the client received was behind the server's at most. gap is
// the longest time without a newer one.
func behind(m *matchsim.Match, c *matchsim.Client, d time.Duration) (most, gap time.Duration) {
	newest, at := ecs.Tick(0), m.Net.Now()
	for end := m.Net.Now() + d; m.Net.Now() < end; {
		m.Run(50 * time.Millisecond)
		f := ecs.Tick(0)
		if c.Live() {
			f = c.Core.Strategy().Stats().ServerTick
		}
		most = max(most, time.Duration(m.Room.Tick()-f)*time.Second/60)
		if gap = max(gap, m.Net.Now()-at); f > newest {
			newest, at = f, m.Net.Now()
		}
	}
	return most, gap
}

// Cross traffic of twice the line fills its queue for some seconds. Three seconds after its end, the newest tick of the client
// is as near as before, without a resync.
func TestAClientIsLiveSoonAfterCrossTraffic(t *testing.T) {
	for name, strategy := range map[string]systems.Strategy{"relay": relay.Strategy, "lockstep": lockstep.Strategy} {
		for _, kilobits := range []int{128, 200, 300} {
			onLine(t, strategy, kilobits, func(m *matchsim.Match, c *matchsim.Client) {
				m.Run(8 * time.Second)
				calm, _ := behind(m, c, 2*time.Second)
				crossed := narrow(kilobits)
				crossed.Down.Cross = simnet.Cross{Bandwidth: 2 * crossed.Down.Bandwidth, On: time.Minute}
				if err := m.Net.SetProfile(c.Node, m.Server, crossed); err != nil {
					t.Fatal(err)
				}
				during, gap := behind(m, c, 4*time.Second)
				if err := m.Net.SetProfile(c.Node, m.Server, narrow(kilobits)); err != nil {
					t.Fatal(err)
				}
				_, drained := behind(m, c, 3*time.Second)
				after, _ := behind(m, c, 10*time.Second)
				if during < time.Second {
					t.Errorf("%s, %d kbit/s: the test proves nothing: %v behind during cross traffic", name, kilobits, during)
				}
				s := c.Core.Stats()
				if !c.Live() || s.Resyncs+s.Reconnects > 0 || after > calm+50*time.Millisecond || max(gap, drained) > 2*time.Second {
					t.Errorf("%s, %d kbit/s: the client is %v, %v behind, %d resyncs, %d reconnects, gap %v", name, kilobits, c.Core.State(),
						after, s.Resyncs, s.Reconnects, max(gap, drained))
				}
			})
		}
	}
}

// A client joins on 128 kbit/s, whose image and confirmations need more than the line for a moment.
func TestAClientJoinsOnASlowLine(t *testing.T) {
	for name, strategy := range map[string]systems.Strategy{"relay": relay.Strategy, "lockstep": lockstep.Strategy} {
		onLine(t, strategy, 128, func(m *matchsim.Match, c *matchsim.Client) {
			m.Run(3 * time.Second)
			if late, _ := behind(m, c, 10*time.Second); late > 400*time.Millisecond || c.FirstLive == 0 {
				t.Errorf("%s: live since %v, %v behind", name, c.FirstLive, late)
			}
		})
	}
}

package client_test

import (
	"testing"
	"time"

	"tendon/net/client"
	"tendon/net/matchsim"
	"tendon/net/simnet"
	"tendon/systems"
)

// Without the server, the time that is left only falls: until the client reconnects, then until it gives up. It has given up
// when that time is over.
func TestTheTimeThatIsLeftCountsDownToTheEnd(t *testing.T) {
	h, p := match(t, nil)
	c := h.Join(matchsim.Plan{Profile: p, Change: func(c *client.Config) { c.GiveUp, c.Timeout = 20*time.Second, 4*time.Second }})
	until(t, h, c.Live)
	left := func() systems.Time { return c.Core.Left(systems.Time(h.Net.LocalNow(c.Node))) }
	h.Run(time.Second)
	if n := left(); n < 3*time.Second || n > 4*time.Second {
		t.Errorf("in the match %v are left, want about the timeout", n)
	}
	if err := h.Net.SetProfile(c.Node, h.Server, simnet.Symmetric("", "", simnet.Path{Loss: 1})); err != nil {
		t.Fatal(err)
	}
	before, state, first := left(), client.Live, systems.Time(0)
	began := time.Duration(0)
	for c.Core.State() != client.Ended {
		h.Run(time.Second / 10)
		now := left()
		if c.Core.State() != state { // it reconnects
			state, first, began, before = c.Core.State(), now, h.Net.Now(), now
		}
		if now > before {
			t.Fatalf("%v: %v are left, after %v", state, now, before)
		}
		before = now
		if h.Net.Now() > time.Minute {
			t.Fatal("the client does not give up within a minute")
		}
	}
	if took := h.Net.Now() - began; began == 0 || took > first+time.Second/5 || took < first-time.Second/2 || before != 0 {
		t.Errorf("%v were left when the connection was lost, the client gave up after %v, and then %v were left", first, took, before)
	}
}

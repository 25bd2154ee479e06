package matchsim_test

import (
	"errors"
	"testing"
	"time"

	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems/relay"
)

// A match over links stays in step on a bad network. A client that reconnects and one whose line is cut continue.
func TestAMatchOverLinksStaysInStep(t *testing.T) {
	m, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Strategy: relay.Strategy, Seed: 4, Links: true})
	if err != nil {
		t.Fatal(err)
	}
	bad, _ := simnet.ByName("P5")
	for range 3 {
		m.Join(matchsim.Plan{Profile: bad})
	}
	m.Run(3 * time.Second)
	m.Clients[1].Reconnect()
	m.Net.Partition(m.Clients[2].Node, m.Server, m.Net.Now(), m.Net.Now()+12*time.Second)
	m.Run(25 * time.Second)
	for i, c := range m.Clients {
		s := c.Core.Stats()
		if !c.Live() || c.Checked < 1000 || (s.Reconnects > 0) != (i > 0) {
			t.Errorf("client %d is %v, %d reconnects, %d ticks compared", i, c.Core.State(), s.Reconnects, c.Checked)
		}
		// A packet has at least the headers of IP and UDP, of netcode, and of the link.
		if n := m.Net.Counters(m.Server, c.Node); n.Packets < 1000 || n.Bytes < 50*n.Packets {
			t.Errorf("client %d: %d packets of %d bytes", i, n.Packets, n.Bytes)
		}
	}
	if err := m.Err(); err != nil {
		t.Error(err)
	}
}

// Seed 8800305: the Bye of an old connection arrives at a restarted server, after the client has connected to it. It must not end
// the new session, whose epoch may be the same.
func TestAByeOfAnOldConnectionEndsNothing(t *testing.T) {
	m, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Strategy: relay.Strategy, Seed: 2, Journal: true})
	if err != nil {
		t.Fatal(err)
	}
	good, _ := simnet.ByName("P1")
	c := m.Join(matchsim.Plan{Profile: good})
	m.Run(2 * time.Second)
	m.Net.Script(c.Node, m.Server, simnet.Rule{Count: 64, Delay: 3 * time.Second, Match: func(ch simnet.Channel, _ []byte) bool { return ch == simnet.Datagram }})
	c.Leave()
	m.Run(50 * time.Millisecond)
	m.Crash(0)
	if err := errors.Join(m.Recover(), c.Restart()); err != nil {
		t.Fatal(err)
	}
	m.Run(30 * time.Second)
	if n := c.Core.Stats().Reconnects; n != 0 || !c.Live() {
		t.Errorf("the client is %v after %d reconnects", c.Core.State(), n)
	}
}

package matchtest

import (
	"testing"
	"time"

	"tendon/ecs/race"
	"tendon/net/matchsim"
	"tendon/net/session"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/relay"
)

// slow is a link of a rate in bytes per second to the client.
func slow(rate int) simnet.Profile {
	up := simnet.Path{Delay: 25 * time.Millisecond}
	down := up
	down.Bandwidth = rate
	return simnet.Profile{Name: "slow", Up: up, Down: down}
}

// A client joins over a line of 500 kbit/s. All packets with their headers take at most 1.3 times the bytes of the packed image. The
// client is live after at most 4/3 of the time that the packed image takes. Both include the ticks that were computed meanwhile,
// which are sent after the image.
func TestAClientJoinsALargeWorldOverALink(t *testing.T) {
	inEveryStrategy(t, func(t *testing.T, s systems.Strategy) {
		entities, slack := 12_000, time.Second // of the handshake and of the first rate of the link
		if fullScale(s) {
			entities, slack = 100_000, 0
		}
		joinOverLink(t, s, entities, 62_500, slack)
	})
}

// A client also joins a large world over 128 and 64 kbit/s. The queue of these lines is longer than the shortest timeout of the
// reliable channel. On 64 kbit/s a full packet takes 150 ms. A relay client is live after 1.21 and 1.25 times the time of the image.
func TestAClientJoinsALargeWorldOverASlowLink(t *testing.T) {
	inEveryStrategy(t, func(t *testing.T, s systems.Strategy) {
		if !race.Long && s.Name != relay.Strategy.Name {
			t.Skip("the same code as for relay")
		}
		for _, rate := range []int{slowest, slowest / 2} {
			joinOverLink(t, s, 9000, rate, 0)
		}
	})
}

func joinOverLink(t *testing.T, s systems.Strategy, entities, rate int, slack time.Duration) {
	m, err := matchsim.New(matchsim.Config{Game: dustGame(entities, 300), Strategy: s, Seed: 7, Links: true, Unchecked: true})
	if err != nil {
		t.Fatal(err)
	}
	first := m.Join(matchsim.Plan{Profile: profile(t, "P2")})
	m.Run(10 * time.Second)
	before, packed := first.Core.Stats().Strategy, 0
	c := m.Join(matchsim.Plan{Profile: slow(rate), Traffic: func(down bool, ch systems.Channel, message []byte) {
		if size := len(message); down && ch == systems.Reliable && size > session.MaxMessage/8 {
			packed += size
		}
	}})
	from := m.Net.Now()
	for m.Net.Now()-from < 5*time.Minute && !c.Live() {
		m.Run(time.Second / 60)
	}
	took, least := m.Net.Now()-from, time.Duration(float64(packed)/float64(rate)*float64(time.Second))
	most := least*4/3 + slack
	n, now := m.Net.Counters(m.Server, c.Node), first.Core.Stats().Strategy
	t.Logf("%v of %v, %d bytes of %d packed, %d dropped, %v", took, least, n.Bytes, packed, n.Tail, c.Core.State())
	if !c.Live() || took > most || float64(n.Bytes) > 1.3*float64(packed) {
		t.Errorf("%v after %v, want %v; %d bytes, want %d", c.Core.State(), took, most, n.Bytes, packed*13/10)
	}
	if now.Stalls > before.Stalls+2 || first.Core.Stats().Resyncs > 0 || !first.Live() {
		t.Errorf("the other client is %v and stalled %d ticks", first.Core.State(), now.Stalls-before.Stalls)
	}
	m.Run(5 * time.Second)
	if st := c.Core.Stats(); !c.Live() || st.Resyncs+st.Reconnects > 0 {
		t.Errorf("after 5 s the client is %v, %d resyncs, %d reconnects", c.Core.State(), st.Resyncs, st.Reconnects)
	}
}

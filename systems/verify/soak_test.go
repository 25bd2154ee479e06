package verify

import (
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/net/simnet"
)

// soakSeeds is how many matches the soak plays; VERIFY_SOAK=n plays more of them.
func soakSeeds() int {
	if n, err := strconv.Atoi(os.Getenv("VERIFY_SOAK")); err == nil {
		return n
	}
	if race.Enabled {
		return 3
	}
	return 12
}

// Connections and processes end and start in any order, over any network. Clients show only the server's states in
// their order, and only its events. No order is carried out twice, or after it was rejected. In the end all clients
// catch up.
func TestOnlyTheServersStatesAreShown(t *testing.T) {
	total := map[string]int{}
	for seed := range soakSeeds() {
		r := image.NewRand(uint64(seed) + 1000)
		c := Config{Reliable: r.Chance(1, 3), MaxOutstanding: 1 << r.IntN(7)}
		if r.Chance(1, 3) {
			c.History = 64 << r.IntN(3)
		}
		game := testGame(60)
		if r.Chance(1, 3) {
			game = bystanderGame(20 << r.IntN(6))
		}
		path := slices.Delete(simnet.Profiles(), 7, 10)[r.IntN(10)] // without the longest delays
		path.Up.Duplicate, path.Down.Duplicate = 0.2, 0.2
		m := newMatch(t, game, c, uint64(seed))
		id := uint32(0)
		for s := range 4 {
			play := wander(uint64(seed*4 + s))
			m.join(path, simnet.Clock{DriftPPM: int64(r.IntN(200)) - 100}, s-s/3*4, 30<<r.IntN(3), simnet.Time(r.IntN(1e7)), func(p *player, f int) pad {
				if f%40 == 0 && p.Config.Seat >= 0 {
					id++
					_ = p.Order(1, ecs.Entity{}, purchase(int32(r.IntN(400)), id), nil)
				}
				return play(p, f)
			})
		}
		for at := 2 * time.Second; at < 12*time.Second; at += time.Duration(r.IntN(900)) * ms {
			p := m.clients[r.IntN(4)]
			switch r.IntN(5) {
			case 0:
				m.Net.Partition(p.peer.Node, m.Node, at, at+time.Duration(r.IntN(3000))*ms)
			case 1:
				m.Net.At(at, func() { p.reconnect(false); p.peer.Effects = nil })
			case 2:
				m.Net.At(at, func() { p.reconnect(true); p.peer.Effects = nil })
			case 3:
				m.Net.At(at, func() { p.restart(); p.peer.Effects = nil })
			default:
				m.Net.Pause(p.peer.Node, at, at+time.Duration(r.IntN(2000))*ms)
			}
		}
		m.Net.RunUntil(24 * time.Second)
		m.WantChange()
		m.judge(seed, total)
	}
	t.Logf("%v", total)
	if total["shown"] < 500*soakSeeds() || total["orders"] == 0 || total["rejected"] == 0 || total["images"] == 0 || total["events"] == 0 {
		t.Errorf("the soak proves too little: %v", total)
	}
}

// judge checks a match against the promises of the soak.
func (m *match) judge(seed int, total map[string]int) {
	m.T.Helper()
	carriedOut := map[string]int{}
	for _, o := range m.orders() {
		if carriedOut[string(o.Payload)]++; carriedOut[string(o.Payload)] > 1 {
			m.T.Errorf("seed %d: an order was carried out twice", seed)
		}
		total["orders"]++
	}
	happened := map[image.EventKey]int{}
	for i, key := range m.events() {
		happened[key] = i + 1
	}
	for _, p := range m.clients {
		if lag := m.server.Done() - p.present; lag > 120 || !p.Live() {
			m.T.Errorf("seed %d: client %d is %d ticks behind: %+v, refused %d, flagged %d", seed, p.peer.ID, lag, p.Stats(), p.refused, len(p.peer.Flagged))
		}
		last := 0
		for _, e := range p.peer.Effects {
			if at := happened[e.Event.Key]; at <= last {
				m.T.Errorf("seed %d: client %d received %+v out of turn", seed, p.peer.ID, e.Event.Key)
			} else {
				last = at
			}
		}
		for _, a := range p.answers {
			if a.Command.Kind != CommandOrder {
				continue
			}
			if n := carriedOut[string(a.Command.Order)]; a.Reason == Accepted && n != 1 || a.Reason != Accepted && a.Reason != ReasonTimedOut && n != 0 {
				m.T.Errorf("seed %d: client %d: %v was carried out %d times", seed, p.peer.ID, a, n)
			}
			if a.Reason != Accepted {
				total["rejected"]++
			}
		}
		if st := m.server.PeerStats(p.peer.ID); st.Desyncs > 0 {
			m.T.Errorf("seed %d: client %d: %+v, refused %d", seed, p.peer.ID, st, p.refused)
		}
		total["shown"] += p.checked
		total["events"] += len(p.peer.Effects)
		total["images"] += p.peer.Loads - 1
	}
}

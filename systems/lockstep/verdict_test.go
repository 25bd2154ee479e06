package lockstep

import (
	"slices"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
)

// ending is the test game with a result in tick 400, or in the given ticks. The result is the place of every player.
func ending(ticks ...ecs.Tick) *ecs.Game {
	if len(ticks) == 0 {
		ticks = []ecs.Tick{400}
	}
	g := testGame()
	g.Result = func(w *ecs.World) (result []byte) {
		if !slices.Contains(ticks, w.Tick()) {
			return nil
		}
		for e := range steered.All(w) {
			result = append(result, byte(e.A.Pos.X.Floor()), byte(e.A.Pos.Y.Floor()))
		}
		return append(result, 'e')
	}
	return g
}

// spoil changes a client's state after it has executed a frame, permanently. The game itself could correct a place.
func spoil(p *player, f ecs.Tick) {
	done := false
	next := p.onFrame
	p.onFrame = func(q *player, before, after ecs.Tick) {
		if next != nil {
			next(q, before, after)
		}
		if after >= f && !done {
			done, q.peer.Faulty = true, true
			q.World().Rand().Uint64()
		}
	}
}

// LS-11 and LS-14: the client that differs is found within a second, blamed alone, and corrected with an image. The
// players' votes decide the match. There is no replay if the players who never differed are a majority. The test runs with and
// without OnDemand. A server with a log computes it up to the frame in which a client differs.
func TestADesyncIsFoundAndTheMatchIsDecided(t *testing.T) {
	for _, way := range []struct {
		onDemand bool
		wrong    int // clients that differ
		how      systems.How
	}{{false, 0, systems.ByMajority}, {false, 1, systems.ByMajority}, {true, 0, systems.ByMajority}, {true, 1, systems.ByMajority},
		{true, 2, systems.ByReplay}, {false, 2, systems.ByReplay}} {
		if race.Enabled && way.wrong != 1 {
			continue // the same, slowly
		}
		m := newMatch(t, ending(), 3, Config{OnDemand: way.onDemand})
		for s := range 4 {
			c := m.join(profile(t, "P2"), simnet.Clock{}, s, 60, wander(uint64(s)))
			if s < way.wrong {
				spoil(c, 130)
			}
		}
		m.Net.RunUntil(5 * time.Second)
		for i, c := range m.clients {
			if flagged := len(c.peer.Flagged) > 0; flagged != (i < way.wrong) || c.peer.Faulty {
				t.Errorf("%v: client %d was flagged %d times, still wrong: %v", way, i, len(c.peer.Flagged), c.peer.Faulty)
			}
			if i < way.wrong && len(c.peer.Found) != 1 && !way.onDemand {
				t.Errorf("%v: client %d found %v", way, i, c.peer.Found)
			}
		}
		if computed := m.server.World().Tick(); way.onDemand && (way.wrong == 0 && computed != 0 || way.wrong > 0 && computed != 180) {
			t.Errorf("%v: the server computed %d frames", way, computed)
		}
		m.Net.RunUntil(20 * time.Second)
		if len(m.Decisions) != 1 {
			t.Fatalf("%v: decisions %+v", way, m.Decisions)
		}
		d := m.Decisions[0]
		if d.Tick != 400 || d.How != way.how || d.Registered != 15 || d.Voted != 15 || d.Dissented != 0 || len(d.Result) != 9 {
			t.Errorf("%v: %+v", way, d)
		}
	}
}

// Two against two, and the server has to play the match; it does so beside its own work, and once.
func TestAContestedResultIsPlayedAgain(t *testing.T) {
	for _, onDemand := range []bool{false, true} {
		if race.Enabled && !onDemand {
			continue // the same, slowly
		}
		m := newMatch(t, ending(), 3, Config{OnDemand: onDemand})
		for s := range 4 {
			c := m.join(profile(t, "P2"), simnet.Clock{}, s, 60, wander(uint64(s)))
			if s < 2 {
				spoil(c, 380) // after the last comparison
			}
		}
		m.Net.RunUntil(20 * time.Second)
		if len(m.Decisions) != 1 {
			t.Fatalf("%v: decisions %+v", onDemand, m.Decisions)
		}
		d := m.Decisions[0]
		if d.Tick != 400 || d.How != systems.ByReplay || d.Dissented != 3 || d.Replays != 1 || len(d.Result) != 9 || d.Votes[2] == 0 || d.Votes[2] != d.Votes[3] {
			t.Errorf("%v: %+v", onDemand, d)
		}
		if onDemand && m.server.World().Tick() < 400 {
			t.Errorf("the server is at %d", m.server.World().Tick())
		}
	}
}

// A majority that lies is overruled by a server that computes the match, and by one with a log whose players may cause a
// replay. Otherwise the result is disputed.
func TestALyingMajorityIsOverruledByAServerThatComputes(t *testing.T) {
	for _, c := range []Config{{}, {OnDemand: true, DissentReplays: 1}, {OnDemand: true}} {
		m := newMatch(t, ending(), 3, c)
		for s := range 4 {
			c := m.join(profile(t, "P2"), simnet.Clock{}, s, 60, wander(uint64(s)))
			c.onFrame = func(p *player, _, _ ecs.Tick) {}
		}
		m.OnUp = func(p *halves.Peer, _ systems.Channel, message []byte) {
			if message[0] == kindResult && p.ID < 3 {
				message[len(message)-1] ^= 1
			}
		}
		m.Net.RunUntil(20 * time.Second)
		if len(m.Decisions) != 1 {
			t.Fatalf("%+v: decisions %+v", c, m.Decisions)
		}
		how, dissented, last := systems.ByAudit, image.PlayerSet(7), byte('e')
		if c.OnDemand && c.DissentReplays == 0 {
			how, dissented, last = systems.Disputed, 8, 'e'^1
		}
		if d := m.Decisions[0]; d.How != how || d.Dissented != dissented || d.Result[len(d.Result)-1] != last {
			t.Errorf("%+v: %+v", c, d)
		}
	}
}

// A player who claims that the match has ended when it has not causes a replay and a strike, and no decision.
func TestAFalseEndIsNotDecided(t *testing.T) {
	m := newMatch(t, ending(), 3, Config{OnDemand: true, VoteTime: systems.Second})
	for s := range 4 {
		m.join(profile(t, "P2"), simnet.Clock{}, s, 60, wander(uint64(s)))
	}
	m.Net.RunUntil(2 * time.Second)
	lie := resultMessage{tick: 50, result: []byte("mine")}
	if err := m.server.Receive(0, systems.Reliable, lie.append(nil), systems.Time(m.Net.Now()), m); err != nil {
		t.Fatal(err)
	}
	m.Net.RunUntil(4 * time.Second)
	if len(m.Decisions) != 0 || m.server.World().Tick() < 170 || m.server.votes.Hashes.Struck(49) != 1 || m.server.PeerStats(0).Differed != 50 {
		t.Fatalf("%+v, at %d, struck %b", m.Decisions, m.server.World().Tick(), m.server.votes.Hashes.Struck(49))
	}
	m.Net.RunUntil(10 * time.Second)
	if len(m.Decisions) != 1 || m.Decisions[0].Tick != 400 {
		t.Fatalf("%+v", m.Decisions)
	}
}

// A dissenter causes as many replays as the budget has. The result of every later match is disputed, and the server does
// not compute it.
func TestADissenterWithoutABudgetCausesNoReplay(t *testing.T) {
	m := newMatch(t, ending(200, 400, 600), 3, Config{OnDemand: true, DissentReplays: 1})
	for s := range 4 {
		m.join(profile(t, "P1"), simnet.Clock{}, s, 60, wander(uint64(s)))
	}
	m.OnUp = func(p *halves.Peer, _ systems.Channel, message []byte) {
		if message[0] == kindResult && p.ID == 3 {
			message[len(message)-1] ^= 1
		}
	}
	m.Net.RunUntil(12 * time.Second)
	if len(m.Decisions) != 3 {
		t.Fatalf("decisions %+v", m.Decisions)
	}
	for i, d := range m.Decisions {
		how, replays := systems.Disputed, 0
		if i == 0 {
			how, replays = systems.ByAudit, 1
		}
		if d.How != how || d.Replays != replays || d.Dissented != 8 || d.Result[8] != 'e' {
			t.Errorf("match %d: %+v", i+1, d)
		}
	}
	if computed := m.server.World().Tick(); computed < 200 || computed >= 400 {
		t.Errorf("the server computed %d frames", computed)
	}
}

// A client that differs for the third time is expelled.
func TestAThirdDesyncExpels(t *testing.T) {
	m := newMatch(t, testGame(), 3, Config{})
	for s := range 3 {
		m.join(profile(t, "P1"), simnet.Clock{}, s, 60, wander(uint64(s)))
	}
	c := m.clients[0]
	for i := range 3 {
		if c.peer.Removed {
			t.Fatalf("after %d", i)
		}
		spoil(c, c.at()+10)
		m.Net.RunUntil(m.Net.Now() + 3*time.Second)
	}
	if !c.peer.Removed || len(c.peer.Flagged) != 3 || m.clients[1].peer.Removed {
		t.Errorf("removed %v, flagged at %v, another removed %v", c.peer.Removed, c.peer.Flagged, m.clients[1].peer.Removed)
	}
}

// A match that follows while the one before is still voted on is decided, too: one after the other.
func TestEveryMatchOfARoomIsDecided(t *testing.T) {
	if race.Enabled {
		t.Skip("the same, slowly")
	}
	for _, onDemand := range []bool{false, true} {
		for _, wrong := range []int{0, 2} { // their states of tick 420 differ, in the second match
			m := newMatch(t, ending(400, 700), 3, Config{OnDemand: onDemand})
			for s := range 4 {
				c := m.join(profile(t, "P2"), simnet.Clock{}, s, 60, wander(uint64(s)))
				if s < wrong {
					spoil(c, 380)
				}
				if s == 3 {
					m.OnUp = func(p *halves.Peer, _ systems.Channel, message []byte) {
						if p == c.peer && message[0] == kindResult {
							message[0] = 99 // the player does not vote, so that the vote lasts until its deadline
						}
					}
				}
			}
			m.Hostile = true
			m.Net.RunUntil(45 * time.Second)
			if len(m.Decisions) != 2 || m.Decisions[0].Tick != 400 || m.Decisions[1].Tick != 700 {
				t.Errorf("%v, %d wrong: %+v", onDemand, wrong, m.Decisions)
				continue
			}
			how, dissented := systems.ByMajority, image.PlayerSet(0)
			if wrong > 0 {
				how, dissented = systems.ByReplay, 3
			}
			if d := m.Decisions[0]; d.How != how || d.Dissented != dissented || d.Silent != 8 || len(d.Result) != 9 {
				t.Errorf("%v, %d wrong: %+v", onDemand, wrong, d)
			}
			if d := m.Decisions[1]; d.How != how || d.Dissented != 0 || d.Silent != 8 || len(d.Result) != 9 {
				t.Errorf("%v, %d wrong: %+v", onDemand, wrong, d)
			}
		}
	}
}

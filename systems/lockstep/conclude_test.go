package lockstep

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
)

// silence makes the results of some clients, bits of the set, never arrive.
func (m *match) silence(who image.PlayerSet) {
	m.Hostile = true
	m.OnUp = func(p *halves.Peer, _ systems.Channel, message []byte) {
		if message[0] == kindResult && who.Has(ecs.Player(p.ID)) {
			message[0] = 99
		}
	}
}

// fourWho plays four clients at which only those in voters say what came out.
func fourWho(t *testing.T, game *ecs.Game, c Config, voters image.PlayerSet) *match {
	m := newMatch(t, game, 3, c)
	for s := range 4 {
		m.join(profile(t, "P2"), simnet.Clock{}, s, 60, wander(uint64(s)))
	}
	m.silence(15 &^ voters)
	return m
}

// concluded returns the only decision that Conclude makes, and demands that a second Conclude makes none.
func (m *match) concluded(before int) systems.Decision {
	m.T.Helper()
	if len(m.Decisions) != before {
		m.T.Fatalf("decided before: %+v", m.Decisions)
	}
	m.server.Conclude()
	m.server.Conclude()
	if len(m.Decisions) != before+1 {
		m.T.Fatalf("decisions %+v", m.Decisions)
	}
	return m.Decisions[before]
}

// A room that ends while players vote loses no result. A strict majority of the players who were in the match decides.
// Otherwise the server decides, and replays the match if it only kept the log.
func TestConcludeDecidesThePendingBallot(t *testing.T) {
	for _, onDemand := range []bool{false, true} {
		for _, c := range []struct {
			voters image.PlayerSet
			how    systems.How
		}{{0b0111, systems.ByMajority}, {0b0011, systems.ByReplay}, {0, systems.ByReplay}} {
			if race.Enabled && c.voters != 0b0011 {
				continue // the same, slowly
			}
			m := fourWho(t, ending(), Config{OnDemand: onDemand, VoteTime: 60 * systems.Second}, c.voters)
			m.Net.RunUntil(9 * time.Second)
			d := m.concluded(0)
			if d.Tick != 400 || d.How != c.how || d.Registered != 15 || d.Voted != c.voters || d.Silent != 15&^c.voters || d.Dissented != 0 ||
				len(d.Result) != 9 || d.Result[8] != 'e' {
				t.Errorf("OnDemand %v, voters %04b: %+v", onDemand, c.voters, d)
			}
		}
	}
}

// Where the server computes the match anyway, what it computed is what counts.
func TestConcludeOverrulesAMajorityThatLies(t *testing.T) {
	m := fourWho(t, ending(), Config{OnDemand: true, VoteTime: 60 * systems.Second}, 0b0111)
	m.OnUp = func(p *halves.Peer, _ systems.Channel, message []byte) {
		if message[0] == kindResult {
			if message[len(message)-1] ^= 1; p.ID == 3 {
				message[0] = 99
			}
		}
	}
	m.Net.RunUntil(9 * time.Second)
	if d := m.concluded(0); d.How != systems.ByAudit || d.Dissented != 7 || d.Result[8] != 'e' {
		t.Errorf("%+v", d)
	}
	m = fourWho(t, ending(), Config{OnDemand: true, VoteTime: 60 * systems.Second}, 15)
	m.Net.RunUntil(2 * time.Second)
	lie := resultMessage{tick: 50, result: []byte("ours")}
	for p := range systems.Peer(3) {
		if err := m.server.Receive(p, systems.Reliable, lie.append(nil), systems.Time(m.Net.Now()), m); err != nil {
			t.Fatal(err)
		}
	}
	if m.server.Conclude(); len(m.Decisions) != 0 {
		t.Errorf("no match has ended: %+v", m.Decisions)
	}
}

// Every match that ended since the last one that was decided is, in order, however many there are.
func TestConcludeDecidesEveryMatchOfTheLog(t *testing.T) {
	game, most := testGame(), 3*64
	game.Result = func(w *ecs.World) []byte {
		if f := int(w.Tick()); f > 300 && f <= 300+most {
			return []byte{byte(f), byte(f >> 8)}
		}
		return nil
	}
	m := fourWho(t, game, Config{OnDemand: true, VoteTime: 60 * systems.Second}, 0)
	m.Net.RunUntil(10 * time.Second)
	m.server.Conclude()
	if len(m.Decisions) != most {
		t.Fatalf("%d of %d matches are decided", len(m.Decisions), most)
	}
	for i, d := range m.Decisions {
		if f := 301 + i; d.Tick != ecs.Tick(f) || d.How != systems.ByReplay || d.Registered != 15 || d.Silent != 15 || d.Result[0] != byte(f) {
			t.Errorf("%+v, want tick %d", d, f)
		}
	}
}

// When all players have left, a server that kept the log replays it in the time that the room still has, and decides
// the open matches. While a player is only disconnected for a moment, the replay waits.
func TestTheLogOfAMatchThatAllHaveLeftIsReplayed(t *testing.T) {
	m := fourWho(t, ending(), Config{OnDemand: true, VoteTime: 5 * systems.Second}, 0)
	m.Net.RunUntil(8 * time.Second)
	for _, c := range m.clients {
		c.peer.Off = true
		m.server.Close(c.peer.ID)
	}
	m.Net.RunUntil(9 * time.Second)
	if w := m.server.World().Tick(); w != 0 || len(m.Decisions) > 0 {
		t.Errorf("a second after all left the server has computed %d frames: %+v", w, m.Decisions)
	}
	m.Net.RunUntil(13 * time.Second)
	if len(m.Decisions) != 1 || m.Decisions[0].Tick != 400 || m.Decisions[0].Registered != 15 || m.Decisions[0].How != systems.ByReplay {
		t.Errorf("at frame %d of %d: %+v", m.server.World().Tick(), m.server.Done(), m.Decisions)
	}
	m.server.Conclude()
	if len(m.Decisions) != 1 {
		t.Errorf("%+v", m.Decisions)
	}
}

// Players who were in the match when it ended have a vote, even if they left before the first result came. Players who
// joined later have none. One of two players does not decide alone because the other has left.
func TestVotersAreThePlayersAtTheEnd(t *testing.T) {
	for _, way := range []struct {
		onDemand bool
		comes    bool // somebody else
	}{{false, false}, {false, true}, {true, false}, {true, true}} {
		m := newMatch(t, ending(), 3, Config{OnDemand: way.onDemand, VoteTime: 2 * systems.Second})
		for s := range 2 {
			m.join(profile(t, "P2"), simnet.Clock{}, s, 60, wander(uint64(s)))
		}
		m.silence(2)
		m.Net.At(tickAt(400)+1, func() { // before anybody has executed frame 400
			m.clients[1].peer.Off = true
			m.server.Close(1)
			m.server.Stamp(image.Order{Kind: image.OrderLeave, Player: 1}, m)
			if way.comes {
				m.join(profile(t, "P2"), simnet.Clock{}, 2, 60, wander(9))
			}
		})
		m.Net.RunUntil(12 * time.Second)
		if len(m.Decisions) != 1 {
			t.Fatalf("%v: %+v", way, m.Decisions)
		}
		if d := m.Decisions[0]; d.Tick != 400 || d.Registered != 3 || d.Voted != 1 || d.Silent != 2 || d.How != systems.ByReplay {
			t.Errorf("%v: %+v", way, d)
		}
	}
}

// A tick in which one was alone is not one's to choose.
func TestAClaimOfATickInWhichOneWasAloneDecidesNothing(t *testing.T) {
	m := newMatch(t, ending(), 3, Config{OnDemand: true, VoteTime: systems.Second})
	m.join(profile(t, "P2"), simnet.Clock{}, 0, 60, wander(0))
	m.Net.RunUntil(2 * time.Second)
	for s := 1; s < 4; s++ {
		m.join(profile(t, "P2"), simnet.Clock{}, s, 60, wander(uint64(s)))
	}
	m.Net.RunUntil(4 * time.Second)
	lie := resultMessage{tick: 100, result: []byte("mine")}
	if err := m.server.Receive(0, systems.Reliable, lie.append(nil), systems.Time(m.Net.Now()), m); err != nil {
		t.Fatal(err)
	}
	m.Net.RunUntil(6 * time.Second)
	if len(m.Decisions) != 0 {
		t.Errorf("%+v", m.Decisions)
	}
}

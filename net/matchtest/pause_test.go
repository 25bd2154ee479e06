package matchtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/room"
	"tendon/systems"
	"tendon/systems/lockstep"
)

// pausable is a match of two players and a spectator that every player may pause, with the orders of its final ticks.
type pausable struct {
	*matchsim.Match
	t      *testing.T
	name   string
	orders []image.Order
}

func newPausable(t *testing.T, s systems.Strategy, rule room.PauseRule) *pausable {
	t.Helper()
	p := &pausable{t: t, name: s.Name}
	m, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Strategy: s, Seed: 5, Journal: true, Room: func(c *room.Config) {
		c.Pause = rule
		c.Sinks = []room.Sink{{Tick: func(f systems.FinalTick) { p.orders = append(p.orders, f.Orders...) }}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	p.Match = m
	for i := range 3 {
		m.Join(matchsim.Plan{Profile: profile(t, "P3"), Spectator: i == 2})
	}
	m.Run(4 * time.Second)
	p.wantLive()
	return p
}

// wantLive fails unless all clients play, or watch, and never differed from the server.
func (p *pausable) wantLive() {
	p.t.Helper()
	for i, c := range p.Clients {
		if st := c.Core.Stats(); !c.Live() || st.Waiting || st.Resyncs > 0 || st.Session.Malformed > 0 {
			p.t.Errorf("%s: client %d is %v: %+v", p.name, i, c.Core.State(), st)
		}
	}
	for _, peer := range p.Room.AppendPeers(nil) {
		if peer.Session.Malformed > 0 {
			p.t.Errorf("%s: %d messages of %s were malformed", p.name, peer.Session.Malformed, peer.Identity.Name)
		}
	}
	if err := p.Err(); err != nil {
		p.t.Errorf("%s: %v", p.name, err)
	}
}

// stands fails unless the match is paused at a tick, and every client reports it.
func (p *pausable) stands(tick ecs.Tick) {
	p.t.Helper()
	if p.Room.Stats().Paused != 1 || p.Room.Tick() != tick {
		p.t.Errorf("%s: paused %d, at tick %d, want it to stand at %d", p.name, p.Room.Stats().Paused, p.Room.Tick(), tick)
	}
	for i, c := range p.Clients {
		if s := c.Core.Paused(); !s.On || s.Tick != tick {
			p.t.Errorf("%s: client %d reports %+v, want a pause after tick %d", p.name, i, s, tick)
		}
	}
}

var bodies = ecs.NewQuery1(ecs.Read(halves.Bodies))

// shown returns the positions of all dots and sparks as a client shows them now.
func shown(c *matchsim.Client) (list []halves.Body) {
	v := c.Core.View(c.Now())
	for e := range bodies.All(v.Sim) {
		list = append(list, e.A)
	}
	return list
}

// lead returns how far each player's present is ahead of the server, in ticks.
func (p *pausable) lead() (list []int) {
	for _, c := range p.Clients[:2] {
		list = append(list, int(c.Core.Stats().Strategy.Present)-int(p.Room.Tick()))
	}
	return list
}

// A pause stops the match on all peers, and they continue as if no time had passed. No state differs, no client is resynced or
// stalls, and each keeps its distance to the server. A player who enters meanwhile joins afterwards.
func TestAPauseStopsTheMatchOnAllPeers(t *testing.T) {
	for _, s := range append(strategies[:len(strategies):len(strategies)], lockstep.New(lockstep.Article())) {
		p := newPausable(t, s, room.PauseRule{By: room.PausePlayers})
		lead, stalls := p.lead(), p.Clients[0].Core.Stats().Strategy.Stalls
		p.Clients[0].Core.Pause(true)
		p.Run(time.Second)
		at := p.Room.Tick()
		p.stands(at)
		var before [][]halves.Body
		for _, c := range p.Clients {
			before = append(before, shown(c))
		}
		p.Join(matchsim.Plan{})
		p.Run(20 * time.Second) // longer than every timeout
		p.stands(at)
		p.Clients[3].Core.View(p.Clients[3].Now())
		if c := p.Clients[3]; c.Core.World() == nil || c.Core.World().Tick() != at || c.Core.State() != client.CatchingUp {
			t.Errorf("%s: the player who entered is %v", s.Name, c.Core.State())
		}
		for i, c := range p.Clients[:3] {
			if now := shown(c); len(now) < 2 || !slices.Equal(now, before[i]) {
				t.Errorf("%s: client %d shows %v, and showed %v when the pause began", s.Name, i, now, before[i])
			}
		}
		p.Clients[1].Core.Pause(false)
		from := p.Net.Now()
		p.Run(4 * time.Second)
		if n, want := p.Room.Tick()-at, ecs.Tick((p.Net.Now()-from)*60/time.Second); n > want || n+20 < want {
			t.Errorf("%s: %d ticks after the pause, want about %d", s.Name, n, want)
		}
		p.wantLive()
		for i, now := range p.lead() {
			if now < lead[i]-5 || now > lead[i]+5 {
				t.Errorf("%s: client %d is %d ticks ahead of the server, and was %d", s.Name, i, now, lead[i])
			}
		}
		if n := p.Clients[0].Core.Stats().Strategy.Stalls - stalls; n > 12 {
			t.Errorf("%s: %d stalls", s.Name, n)
		}
		if a, b := count(p.orders, image.OrderPause), count(p.orders, image.OrderResume); a != 1 || b != 1 {
			t.Errorf("%s: %d orders for a pause and %d for its end", s.Name, a, b)
		}
		if r := p.Room.Stats(); r.Late > 0 || r.PausesRefused > 0 || r.Players != 3 {
			t.Errorf("%s: %+v", s.Name, r)
		}
		wantJournal(t, p.Match)
	}
}

// A server that is restarted during a pause continues the pause.
func TestAPauseSurvivesARestart(t *testing.T) {
	for _, s := range played() {
		p := newPausable(t, s, room.PauseRule{By: room.PausePlayers})
		if err := p.Room.Pause(true, room.Admin); err != nil {
			t.Fatal(err)
		}
		p.Run(time.Second)
		at := p.Room.Tick()
		p.stands(at)
		p.restart()
		p.stands(at)
		if by := p.Clients[0].Core.Paused().Seat; by != room.Admin {
			t.Errorf("%s: after the restart, clients report a pause of seat %d, want one of the operator", s.Name, by)
		}
		if err := p.Room.Pause(false, room.Admin); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		p.Run(4 * time.Second)
		if n := p.Room.Tick() - at; n < 200 {
			t.Errorf("%s: %d ticks after the pause", s.Name, n)
		}
		p.wantLive()
	}
}

// restart kills the server, and another one continues the match.
func (p *pausable) restart() {
	p.t.Helper()
	p.Crash(0)
	p.Run(time.Second)
	if err := p.Recover(); err != nil {
		p.t.Fatal(err)
	}
	p.Run(25 * time.Second)
}

// The pauses of a player count for the whole match, with those before a restart. After it, a pause is still the player's.
func TestTheNumberOfPausesSurvivesARestart(t *testing.T) {
	p := newPausable(t, strategies[0], room.PauseRule{By: room.PausePlayers, PerSeat: 2})
	for range 2 {
		p.Clients[1].Core.Pause(true)
		p.Run(time.Second)
		p.Clients[1].Core.Pause(false)
		p.Run(time.Second)
	}
	p.Clients[0].Core.Pause(true)
	p.Run(time.Second)
	p.restart()
	if s := p.Clients[1].Core.Paused(); !s.On || s.Seat != 0 {
		t.Errorf("after the restart, clients report %+v, want a pause of seat 0", s)
	}
	p.Clients[1].Core.Pause(false)
	p.Run(time.Second)
	if r := p.Room.Stats(); r.Paused != 0 {
		t.Error("another player cannot end the pause of a player after the restart")
	}
	for i, want := range []uint64{0, 1} {
		p.Clients[i].Core.Pause(true)
		p.Run(time.Second)
		if r := p.Room.Stats(); r.PausesRefused != want {
			t.Errorf("%d requests were refused after that of seat %d, want %d", r.PausesRefused, i, want)
		}
		p.Clients[0].Core.Pause(false)
		p.Run(time.Second)
	}
}

// A player whose request is refused receives the reason, and no client receives that of another. Requests beyond one a second
// have no answer.
func TestARefusedPauseNamesTheReason(t *testing.T) {
	m, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Strategy: strategies[0], Seed: 5, Room: func(c *room.Config) { c.Pause.By = room.PauseAdmin }})
	if err != nil {
		t.Fatal(err)
	}
	var texts [3][]string
	for i := range 3 {
		m.Join(matchsim.Plan{Spectator: i == 2, Change: func(c *client.Config) { c.Notice = func(_ int, text string) { texts[i] = append(texts[i], text) } }})
	}
	m.Run(2 * time.Second)
	m.Clients[0].Core.Pause(true)
	m.Clients[2].Core.Pause(true)
	m.Run(time.Second)
	for i, want := range []string{"[the match cannot be paused or continued: players may not pause the match]", "[]", "[the match cannot be paused or continued: only players may request that]"} {
		if got := fmt.Sprint(texts[i]); got != want {
			t.Errorf("client %d received %s, want %s", i, got, want)
		}
	}
	for range 200 {
		m.Clients[0].Core.Pause(true)
	}
	m.Run(time.Second)
	if n := len(texts[0]); n > 8 || !m.Clients[0].Live() {
		t.Errorf("%d answers to 200 requests in a second, the client is %v", n, m.Clients[0].Core.State())
	}
}

// A change of the strategy that is requested during a pause happens when the match continues.
func TestAStrategyChangesAfterThePause(t *testing.T) {
	p := &pausable{t: t, name: "relay to verify"}
	m, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Strategy: strategies[0], Seed: 9, Room: func(c *room.Config) {
		c.Strategies, c.Pause = strategies, room.PauseRule{By: room.PauseAdmin}
	}})
	if err != nil {
		t.Fatal(err)
	}
	p.Match = m
	for range 2 {
		m.Join(matchsim.Plan{Change: func(c *client.Config) { c.Strategies = strategies }})
	}
	m.Run(2 * time.Second)
	if err := m.Room.Pause(true, room.Admin); err != nil {
		t.Fatal(err)
	}
	m.Run(time.Second)
	at := m.Room.Tick()
	if err := m.Room.Switch("verify"); err != nil {
		t.Fatal(err)
	}
	m.Run(5 * time.Second)
	p.stands(at)
	if state := m.Room.Peer(0).State; state != room.StatePaused {
		t.Errorf("the state of a player is %q during the pause", state)
	}
	if name := m.Room.Strategy().Name; name != "relay" {
		t.Errorf("the strategy changed to %s during the pause", name)
	}
	if err := m.Room.Pause(false, room.Admin); err != nil {
		t.Fatal(err)
	}
	m.Run(3 * time.Second)
	if name, n := m.Room.Strategy().Name, m.Room.Tick()-at; name != "verify" || n < 150 {
		t.Errorf("%d ticks after the pause the strategy is %s", n, name)
	}
	for i, c := range m.Clients {
		if !c.Live() || c.Core.Paused().On {
			t.Errorf("client %d is %v", i, c.Core.State())
		}
	}
	if err := m.Err(); err != nil {
		t.Error(err)
	}
}

// The rule bounds who pauses, how often and for how long. A refused request changes nothing and is counted.
func TestThePauseRuleIsEnforced(t *testing.T) {
	s := strategies[0]
	p := newPausable(t, s, room.PauseRule{By: room.PausePlayers, Longest: 2 * systems.Second, PerSeat: 1})
	ask := func(c *matchsim.Client, on bool, want uint64, paused int) {
		t.Helper()
		c.Core.Pause(on)
		p.Run(time.Second)
		if r := p.Room.Stats(); r.PausesRefused != want || r.Paused != paused {
			t.Errorf("%d requests were refused, paused %d, want %d and %d", r.PausesRefused, r.Paused, want, paused)
		}
	}
	ask(p.Clients[2], true, 1, 0)  // a spectator
	ask(p.Clients[0], false, 2, 0) // there is no pause
	ask(p.Clients[0], true, 2, 1)
	ask(p.Clients[1], true, 3, 1) // it is paused already
	p.Run(2 * time.Second)
	ask(p.Clients[0], true, 4, 0) // it continued by itself, and the player has used all their pauses
	ask(p.Clients[1], true, 4, 1)
	p.Run(3 * time.Second)
	if err := p.Room.Pause(true, room.Admin); err != nil {
		t.Error(err)
	}
	p.Run(time.Second)
	ask(p.Clients[1], false, 5, 1) // only the operator ends it
	for by, want := range map[room.PauseBy]string{room.PauseOff: "off", room.PauseAdmin: "admin"} {
		p := newPausable(t, s, room.PauseRule{By: by})
		p.Clients[0].Core.Pause(true)
		p.Run(time.Second)
		if r := p.Room.Stats(); r.PausesRefused != 1 || r.Paused != 0 || by.String() != want {
			t.Errorf("%v: %+v", by, r)
		}
		if err := p.Room.Pause(true, room.Admin); by == room.PauseOff && (err == nil || !strings.Contains(err.Error(), "--pause admin")) {
			t.Errorf("pauses are off: %v", err)
		}
	}
}

// A result, the vote on it and the verdict reach every client, as an effect of the view.
func TestAVerdictReachesEveryClient(t *testing.T) {
	for _, s := range played() {
		game := halves.Dots()
		game.Result = func(w *ecs.World) []byte {
			if w.Tick() == 240 {
				return []byte("ada")
			}
			return nil
		}
		m, err := matchsim.New(matchsim.Config{Game: game, Strategy: s, Seed: 6})
		if err != nil {
			t.Fatal(err)
		}
		var got [3][]image.Verdict
		for i := range 3 {
			m.Join(matchsim.Plan{Profile: profile(t, "P3"), Spectator: i == 2, Effects: func(e systems.Effect) {
				if e.Verdict != nil {
					got[i] = append(got[i], *e.Verdict)
				}
			}})
		}
		m.Run(10 * time.Second)
		how, voted := "server", image.PlayerSet(0)
		if s.Name == "lockstep" {
			how, voted = "majority", 3
		}
		for i, list := range got {
			if len(list) != 1 || list[0].Tick != 240 || string(list[0].Result) != "ada" || list[0].How != how || list[0].Registered != 3 || list[0].Voted != voted || list[0].Dissented != 0 {
				t.Errorf("%s: client %d received %+v, want one by %s", s.Name, i, list, how)
			}
		}
		if err := m.Err(); err != nil {
			t.Error(err)
		}
	}
}

package room_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/rollback/record"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/relay"
)

// restartable are the strategies that the tests of restarts play.
var restartable = []systems.Strategy{relay.Strategy, lockstep.Strategy}

// The first bytes of messages of net/session.
const (
	byteHello    = 1
	byteWelcome  = 2
	byteHead     = 4
	bytePiece    = 5
	byteStrategy = 15
	byteTailAsk  = 16
	byteTail     = 17
	byteProof    = 18
)

// restartableRig is a rig whose room keeps a journal and is restarted from it.
type restartableRig struct {
	*rig
	journal matchsim.Journal
	change  func(*room.Config)
	key     []byte // of the proofs
	begins  bool   // the journal begins half a second before its end
}

// withJournal runs a test with every restartable strategy.
func withJournal(t *testing.T, f func(t *testing.T, newRestartable func(change func(*room.Config)) *restartableRig)) {
	for _, s := range restartable {
		t.Run(s.Name, func(t *testing.T) {
			f(t, func(change func(*room.Config)) *restartableRig {
				n := &restartableRig{change: change}
				n.rig = newRig(t, func(c *room.Config) {
					c.Strategy = s
					n.attach(c)
				})
				return n
			})
		})
	}
}

func (n *restartableRig) attach(c *room.Config) {
	if n.change != nil {
		n.change(c)
	}
	if err := n.journal.Attach(c); err != nil {
		panic(err)
	}
	n.key = c.HistoryKey
}

// enter adds a client that comes back when reconnect is called.
func (n *restartableRig) enter(id room.Identity) *testClient {
	n.t.Helper()
	var v *testClient
	v = n.rig.enter(id, func(c *client.Config) {
		c.GiveUp = 0
		c.Dial = func() (session.Transport, error) {
			if v == nil { // the first time, enter does the rest
				return &n.clients[len(n.clients)-1].up, nil
			}
			return &v.up, nil
		}
	})
	return v
}

// crash replaces the room by one from its journal, without the last writes.
func (n *restartableRig) crash(writes int) {
	n.t.Helper()
	n.journal.Cut(writes)
	resume, err := n.journal.Resume()
	if err != nil {
		n.t.Fatal(err)
	}
	if n.begins {
		n.beginLate(resume)
	}
	n.open(resume, n.attach)
	for _, v := range n.clients {
		v.in, v.up, v.down = false, messages{}, messages{}
	}
	n.fakes = nil
}

// beginLate removes the beginning of a journal, as that of a cluster begins anew.
func (n *restartableRig) beginLate(r *room.Resume) {
	past, first := r.Past, r.World.Tick()-30
	r.Past = func(yield func(systems.FinalTick) bool) {
		for t := range past {
			if t.Tick > first && !yield(t) {
				return
			}
		}
	}
}

// Clients return lost ticks although the journal does not have the first ticks of the match, but their digest.
func TestLostTicksReturnToAJournalThatBeganLater(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		n := newRestartable(nil)
		n.begins = true
		a, b := n.enter(player(1)), n.enter(player(2))
		n.live()
		for range 2 {
			n.steps(120)
			n.untilProven(a, b)
			n.crash(30)
			n.reconnect(a)
			n.reconnect(b)
			n.seconds(16)
			n.live()
			if s := n.room.Stats(); s.Adopted == 0 || s.TailsRefused != 0 {
				t.Errorf("%+v", s)
			}
		}
		n.mustFollow(a)
		n.mustFollow(b)
	})
}

// reconnect reports a lost connection to a client, which connects again.
func (n *restartableRig) reconnect(v *testClient) {
	v.up, v.down = messages{}, messages{}
	v.peer, v.refused = n.room.Enter(&v.down, v.identity, n.now)
	v.in = v.refused == nil
	v.core.Lost(errors.New("the connection is gone"), n.now)
	v.core.Frame(n.now)
}

// fakeClient is a client without a match: the test chooses its messages.
type fakeClient struct {
	g        *rig
	session  *session.Client
	peer     systems.Peer
	up, down messages
	answer   func(from ecs.Tick) [][]byte // to a TailAsk. Optional.
	asked    []ecs.Tick
	welcome  *session.Welcome
	loaded   session.Event // the last EventImage, without its message
	dead     bool
}

// enterFake adds a fake client that sends a Hello.
func (g *rig) enterFake(id room.Identity, h session.Hello, answer func(ecs.Tick) [][]byte) *fakeClient {
	g.t.Helper()
	p := &fakeClient{g: g, answer: answer}
	h.Fingerprint = g.game.Fingerprint()
	p.session = session.NewClient(h, 100*systems.Second, &p.up, g.now)
	var err error
	if p.peer, err = g.room.Enter(&p.down, id, g.now); err != nil {
		g.t.Fatal(err)
	}
	g.fakes = append(g.fakes, p)
	return p
}

func (p *fakeClient) speak() {
	p.up.deliver(func(ch systems.Channel, m []byte) {
		if !p.dead {
			p.g.room.Receive(p.peer, ch, m, p.g.now)
		}
	})
}

func (p *fakeClient) listen() {
	p.down.deliver(func(ch systems.Channel, m []byte) {
		if p.dead {
			return
		}
		switch e := p.session.Receive(ch, m, p.g.now); e.Kind {
		case session.EventTailAsk:
			p.asked = append(p.asked, e.Tick)
			if p.answer != nil {
				for _, ticks := range p.answer(e.Tick) {
					p.session.Tail(ticks)
				}
			}
		case session.EventWelcome:
			w := *e.Welcome
			p.welcome = &w
		case session.EventImage:
			p.loaded = session.Event{Kind: e.Kind, Tick: e.Tick, Chain: e.Chain}
		}
	})
	p.session.Frame(p.g.now)
}

// seconds plays on.
func (n *restartableRig) seconds(s int) { n.steps(60 * s) }

// tailOf builds the tail of a client that has so many more ticks than the journal, each changed by f, with proofs under a key.
func (n *restartableRig) tailOf(ticks int, key []byte, f func(*record.Tick)) (tail *record.Tail, final ecs.Tick) {
	n.t.Helper()
	tail = record.NewTail(n.game, 1<<16, 1<<22)
	prover, at := n.prover(key)
	tail.Start(at)
	codec := record.NewCodec(n.game)
	for i := range ticks {
		tick := record.Tick{Tick: at.Tick + 1}
		f(&tick)
		code := codec.AppendTick(nil, at.Inputs, &tick)
		if at.Advance(&tick, code); !tail.Append(&tick) {
			n.t.Fatal("the tail refused tick", i)
		}
		if prover.Add(tick.Tick, code) {
			tail.Prove(tick.Tick, prover.Proof())
		}
	}
	final, _, _ = tail.Newest()
	return tail, final
}

// prover returns a prover at the end of the journal, and the position there.
func (n *restartableRig) prover(key []byte) (*record.Prover, record.Position) {
	n.t.Helper()
	resume, err := n.journal.Resume()
	if err != nil {
		n.t.Fatal(err)
	}
	p, codec := record.NewProver(n.game, key, 1, record.Digest{}), record.NewCodec(n.game)
	at := record.Position{Inputs: make([]ecs.InputBytes, n.game.MaxPlayers)}
	for t := range resume.Past {
		code := codec.AppendTick(nil, at.Inputs, &t.FinalTick)
		p.Add(t.Tick, code)
		at.Advance(&t.FinalTick, code)
	}
	return p, at
}

// untilProven plays on until the clients can prove every tick that is final on them.
func (n *restartableRig) untilProven(list ...*testClient) {
	n.t.Helper()
	for range 300 {
		n.step()
		if !slices.ContainsFunc(list, func(v *testClient) bool { return confirmed(v) != proven(v) }) {
			return
		}
	}
	n.t.Fatal("no proof arrives")
}

// offers answers with a tail.
func offers(tail *record.Tail) func(ecs.Tick) [][]byte {
	return func(from ecs.Tick) [][]byte {
		body, _, _ := tail.AppendFrom(nil, from, session.MaxTail)
		return [][]byte{body}
	}
}

func confirmed(v *testClient) ecs.Tick { return v.core.Stats().Strategy.Confirmed }

// proven returns the newest tick that a client can prove.
func proven(v *testClient) ecs.Tick { return v.core.Stats().Proven }

// mustFollow fails unless a client is live and confirms the ticks of the match.
func (n *restartableRig) mustFollow(v *testClient) {
	n.t.Helper()
	st := v.core.Stats()
	if v.core.State() != client.Live || st.Strategy.Confirmed+5 < n.room.Tick() || st.Strategy.Confirmed > n.room.Tick() || st.Session.Malformed > 0 {
		n.t.Errorf("the client is %v (%v) at tick %d, the server at %d, %d messages malformed", v.core.State(), v.core.Err(), st.Strategy.Confirmed,
			n.room.Tick(), st.Session.Malformed)
	}
	n.steps(130) // two checksums are compared
	if again := v.core.Stats(); again.Resyncs != st.Resyncs {
		n.t.Errorf("the client was resynced %d times", again.Resyncs-st.Resyncs)
	}
}

// A room that waits for its players computes no tick, stamps no order and answers no Hello. It goes on at once when all
// players are back and none has more ticks than the journal.
func TestARoomWaitsForItsPlayersAndGoesOnWhenAllAreBack(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		n := newRestartable(nil)
		a, b := n.enter(player(1)), n.enter(player(2))
		n.live()
		n.steps(100)
		n.crash(0)
		tick := n.room.Tick()
		n.reconnect(a)
		n.seconds(7) // longer than the timeout of a session
		if n.room.Tick() != tick || a.core.State() == client.Live || a.core.State() == client.Ended {
			t.Fatalf("the room went on from tick %d to %d, the client that is back is %v", tick, n.room.Tick(), a.core.State())
		}
		if s := a.core.Stats(); s.Reconnects != 1 {
			t.Errorf("the waiting client connected again %d times", s.Reconnects)
		}
		n.reconnect(b)
		n.steps(2)
		if n.room.Tick() == tick {
			t.Error("all are back and the room waits")
		}
		n.live()
		n.mustFollow(a)
		n.mustFollow(b)
		if s := n.room.Stats(); s.Late != 0 || s.Deferred != 0 || s.Adopted != 0 {
			t.Errorf("%+v", s)
		}
		if n.count(image.OrderJoin) != 2 || n.count(image.OrderLeave) != 0 {
			t.Errorf("orders %v", n.orders)
		}
	})
}

// A client of a new process, which waits for the other players, gets answers and learns the reason. The last player does not wait.
func TestAClientThatWaitsForOtherPlayersIsAnswered(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		n := newRestartable(nil)
		n.enter(player(1))
		n.enter(player(2))
		n.live()
		n.crash(0)
		var texts [2][]string
		enter := func(i int) *testClient {
			return n.rig.enter(player(uint64(1+i)), func(c *client.Config) { c.Notice = func(_ int, text string) { texts[i] = append(texts[i], text) } })
		}
		a := enter(0)
		n.seconds(12)
		if s := a.core.Stats(); s.State != client.Connecting || !s.Answered || s.Session.Malformed != 0 {
			t.Errorf("the client is %v, answered %t, %d messages malformed", s.State, s.Answered, s.Session.Malformed)
		}
		if len(texts[0]) != 1 || !strings.Contains(texts[0][0], "waits for the other players") {
			t.Errorf("the client that waits receives %q", texts[0])
		}
		b := enter(1)
		n.live()
		n.mustFollow(a)
		n.mustFollow(b)
		if len(texts[0])+len(texts[1]) != 1 {
			t.Errorf("the clients receive %q", texts)
		}
	})
}

// A client of a match that was moved, which waits for a moment only, receives no notice of a restart.
func TestAClientOfAMovedMatchReceivesNoNotice(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		n := newRestartable(func(c *room.Config) {
			if c.Resume != nil {
				c.Resume.Wait = systems.Second / 20
			}
		})
		n.enter(player(1))
		n.enter(player(2))
		n.live()
		n.crash(0)
		a := n.rig.enter(player(1), func(c *client.Config) {
			c.Notice = func(_ int, text string) { t.Errorf("the client receives %q", text) }
		})
		n.seconds(2)
		n.mustFollow(a)
	})
}

// A room without held seats goes on when the first client comes, not after the whole wait.
func TestAnIdleRoomGoesOnWithItsFirstPlayer(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		n := newRestartable(nil)
		n.steps(100)
		n.crash(0)
		n.steps(60)
		v := n.enter(player(1))
		n.live()
		if n.frame > 300 {
			t.Errorf("live in frame %d", n.frame)
		}
		n.mustFollow(v)
	})
}

// Seats belong to clients, not to connections or to processes of the server.
func TestSeatsSurviveARestart(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		n := newRestartable(nil)
		a, b := n.enter(room.Identity{Seat: 3, ClientID: 1, Name: "ann"}), n.enter(room.Identity{Seat: 0, ClientID: 2})
		n.live()
		n.crash(0)
		if s := n.room.SeatAt(3); s != (record.Seat{Player: 3, Held: true, Client: 1, Name: "ann"}) {
			t.Errorf("seat 3 is %+v", s)
		}
		thief := n.enter(room.Identity{Seat: 3, ClientID: 9})
		stranger := n.enter(player(8))
		n.steps(5)
		ended(t, thief, session.CodeSeat)
		n.reconnect(b)
		n.reconnect(a)
		n.live()
		if a.core.Seat() != 3 || b.core.Seat() != 0 || stranger.core.Seat() != 1 {
			t.Errorf("seats %d, %d and %d, want 3, 0 and 1 for the stranger", a.core.Seat(), b.core.Seat(), stranger.core.Seat())
		}
		n.crash(0)
		n.reconnect(b)
		n.reconnect(stranger)
		n.seconds(16) // without the one on seat 3
		n.mustFollow(b)
		if !n.room.World().Players().Has(3) || !n.room.SeatAt(3).Held {
			t.Error("a player who has not come back yet has lost the seat")
		}
		n.seconds(35)
		if n.room.World().Players().Has(3) || n.room.SeatAt(3).Held {
			t.Error("a player who did not come back has kept the seat")
		}
		if n.count(image.OrderLeave) != 1 {
			t.Errorf("orders %v", n.orders)
		}
	})
}

// The ticks of a tail contain joins and leaves. A player who joined in lost ticks is in the match and does not join again.
// A player who left in them joins again when the client comes back.
func TestJoinsAndLeavesInATailCount(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		n := newRestartable(nil)
		a, b := n.enter(player(1)), n.enter(player(2))
		n.live()
		written := n.room.Tick()
		late := n.enter(room.Identity{Seat: 5, ClientID: 3})
		n.live()
		b.core.Leave()
		n.steps(30)
		n.crash(int(n.room.Tick() - written))
		if players := n.room.World().Players(); players != 1<<a.core.Seat()|1<<b.core.Seat() || !n.room.SeatAt(b.core.Seat()).Held {
			t.Fatalf("the journal's players are %b", players)
		}
		n.orders = nil
		n.reconnect(a)
		n.reconnect(late)
		other := n.rig.enter(player(2), nil) // a new process of the client that left
		n.seconds(16)
		n.live()
		for _, v := range []*testClient{a, late, other} {
			n.mustFollow(v)
			if !n.room.World().Players().Has(ecs.Player(v.core.Seat())) {
				t.Errorf("the player of seat %d is not in the match", v.core.Seat())
			}
		}
		if s := n.room.Stats(); s.Adopted == 0 || s.TailsRefused != 0 || s.Players != 3 {
			t.Errorf("%+v", s)
		}
		if n.count(image.OrderJoin) != 2 || n.count(image.OrderLeave) != 1 { // one of each in the tail
			t.Errorf("orders since tick %d: %v", written, n.orders)
		}
	})
}

// If ticks were lost, the player who comes last may have more of them than the others. The room waits for that player.
func TestTheLongestTailCountsThoughItComesLast(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		n := newRestartable(nil)
		a, b, last := n.enter(player(1)), n.enter(player(2)), n.enter(player(3))
		n.live()
		n.steps(60)
		a.cut, b.cut = true, true
		n.steps(20)
		a.cut, b.cut = false, false
		n.crash(60)
		began, final := n.room.Tick(), proven(last)
		if proven(a)+12 > final || proven(a) < began+10 || final+6 < confirmed(last) {
			t.Fatalf("the journal ends at %d, a player can prove ticks up to %d and the last one up to %d", began, proven(a), final)
		}
		n.reconnect(a)
		n.reconnect(b)
		n.seconds(8)
		if n.room.Tick() != began {
			t.Errorf("the room went on from tick %d to %d without a player", began, n.room.Tick())
		}
		n.reconnect(last)
		n.steps(10)
		// A client may have received ticks, with their proof, that it has not computed yet.
		if s := n.room.Stats(); s.Adopted < uint64(final-began) || s.Adopted > uint64(final-began)+12 || s.Tick < final+5 {
			t.Errorf("the journal ended at %d, the last player can prove ticks up to %d: %+v", began, final, s)
		}
		n.live()
		for _, v := range []*testClient{a, b, last} {
			n.mustFollow(v)
		}
	})
}

// When all players are back with their ticks, the match continues: no player has more ticks. A spectator who is not back may have
// more. The sinks receive how many ticks were returned.
func TestAMatchThatLostTicksContinuesWhenAllPlayersAreBack(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		resumed := map[ecs.Tick]uint64{}
		n := newRestartable(func(c *room.Config) {
			c.Sinks = append(c.Sinks, room.Sink{Resumed: func(last ecs.Tick, returned uint64, _ bool) { resumed[last] += returned }})
		})
		a, b := n.enter(player(1)), n.enter(player(2))
		n.enter(room.Identity{Role: systems.RoleSpectator}) // never comes back
		n.live()
		n.steps(60)
		n.crash(40)
		began := n.room.Tick()
		n.reconnect(a)
		n.steps(5)
		n.room.Vanish(a.peer, n.now) // its tail is kept, but it is not back any more
		n.reconnect(b)
		n.seconds(8)
		if n.room.Tick() != began || len(resumed) != 0 {
			t.Fatalf("the room went on from tick %d to %d without a player", began, n.room.Tick())
		}
		n.reconnect(a)
		n.seconds(2) // it waits for a second, since its last attempt failed
		last := began + ecs.Tick(n.room.Stats().Adopted)
		if n.room.Tick() < last+5 || last < began+30 || len(resumed) != 1 || resumed[last] != uint64(last-began) {
			t.Errorf("tick %d after %d: %+v, %v", n.room.Tick(), began, n.room.Stats(), resumed)
		}
		n.live()
		n.mustFollow(a)
		n.mustFollow(b)
	})
}

// The next tick is not delayed by the ticks that players return, however many they are.
func TestAMatchThatLostTenSecondsContinuesAtOnce(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		n := newRestartable(nil)
		a := n.enter(player(1))
		n.live()
		n.seconds(11)
		n.crash(600)
		began := n.room.Tick()
		n.reconnect(a)
		n.seconds(2)
		if s := n.room.Stats(); s.Adopted < 590 || n.room.Tick() < began+ecs.Tick(s.Adopted)+60 {
			t.Errorf("tick %d after %d: %+v", n.room.Tick(), began, s)
		}
	})
}

// The room also waits for a player whose join was lost, and who may have more ticks than the others. It does not wait for one who
// left again in the lost ticks.
func TestARoomWaitsForAPlayerWhoJoinedInLostTicks(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		for _, left := range []bool{false, true} {
			n := newRestartable(nil)
			a := n.enter(player(1))
			n.live()
			n.steps(30)
			written := n.room.Tick()
			late := n.enter(room.Identity{Seat: 5, ClientID: 3})
			n.live()
			if n.steps(30); left {
				late.core.Leave()
				n.steps(30)
			}
			n.untilProven(a)
			n.crash(int(n.room.Tick() - written))
			began := n.room.Tick()
			if n.room.SeatAt(5).Held || n.room.World().Players().Has(5) {
				t.Fatal("the journal has the player: nothing is tested")
			}
			n.reconnect(a)
			n.seconds(8)
			if goesOn := n.room.Tick() > began; goesOn != left {
				t.Errorf("left: %v; the room is at tick %d, the journal ended at %d", left, n.room.Tick(), began)
			}
			if !left {
				n.reconnect(late)
				n.steps(10)
			}
			if s := n.room.Stats(); s.Tick < began+30 || s.Adopted < 30 {
				t.Errorf("left: %v; the journal ended at %d: %+v", left, began, s)
			}
			n.live()
			n.mustFollow(a)
		}
	})
}

// A player who leaves while the room waits is removed after the wait: an order in the ticks of a tail would change them.
func TestNoOrderIsStampedWhileTheRoomWaits(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		n := newRestartable(func(c *room.Config) {
			if c.Resume != nil {
				c.Resume.Wait = 60 * systems.Second // longer than a seat is kept
			}
		})
		a, b := n.enter(player(1)), n.enter(player(2))
		n.enter(player(3)) // never comes back
		n.live()
		n.steps(120)
		n.untilProven(a, b)
		n.crash(60)
		clear(n.sent)
		n.reconnect(a)
		n.reconnect(b)
		n.steps(5)
		b.core.Leave()
		n.seconds(61)
		n.live()
		n.mustFollow(a)
		if s := n.room.Stats(); s.Adopted < 55 || s.Players != 1 || n.count(image.OrderLeave) != 2 || a.core.Stats().Resyncs != 0 {
			t.Errorf("%+v, orders %v, %d resyncs", s, n.orders, a.core.Stats().Resyncs)
		}
		if n.sent[byteHead] != 0 {
			t.Error("the client that sent the ticks needed an image: the room computed other ticks")
		}
	})
}

// A seat was freed, and the tick of its OrderLeave was lost. The player still leaves, and the seat goes to no other client
// before.
func TestAPlayerWhoseLeavingWasLostLeaves(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		n := newRestartable(nil)
		a, b := n.enter(player(1)), n.enter(player(2))
		n.live()
		b.core.Leave()
		n.step() // the seat is free, the order is stamped ahead
		seat := ecs.Player(b.core.Seat())
		n.crash(0)
		if n.play.Name == lockstep.Strategy.Name && !n.room.World().Players().Has(seat) {
			return // an OrderLeave is executed in the next tick
		}
		if !n.room.World().Players().Has(seat) || n.room.SeatAt(int(seat)).Held {
			t.Fatalf("players %b, seat %+v: nothing is tested", n.room.World().Players(), n.room.SeatAt(int(seat)))
		}
		stranger := n.enter(player(3))
		n.reconnect(a)
		n.live()
		n.mustFollow(a)
		n.mustFollow(stranger)
		if n.count(image.OrderLeave) != 1 || n.room.World().Players() != 1<<a.core.Seat()|1<<stranger.core.Seat() || stranger.core.Seat() == int(seat) {
			t.Errorf("players %b, seats %d and %d, orders %v", n.room.World().Players(), a.core.Seat(), stranger.core.Seat(), n.orders)
		}
	})
}

// A hostile tail has no effect: the match goes on with the ticks of the others, at the latest when the wait is over.
func TestHostileTails(t *testing.T) {
	fork := func(n *restartableRig) (*record.Tail, ecs.Tick) { // of another past
		tail := record.NewTail(n.game, 600, record.TailBytes)
		tail.Start(record.Position{Tick: n.room.Tick(), Chain: 77})
		for i := range 50 {
			f := n.room.Tick() + ecs.Tick(i) + 1
			tail.Append(&record.Tick{Tick: f})
			tail.Prove(f, make([]byte, record.ProofBytes))
		}
		f, _, _ := tail.Newest()
		return tail, f
	}
	nothing := func(*record.Tick) {}
	for _, c := range []struct {
		name    string
		answer  func(n *restartableRig) (answer func(ecs.Tick) [][]byte, final ecs.Tick)
		refused uint64
	}{
		{"forked", func(n *restartableRig) (func(ecs.Tick) [][]byte, ecs.Tick) {
			tail, f := fork(n)
			return offers(tail), f
		}, 1},
		{"garbage", func(n *restartableRig) (func(ecs.Tick) [][]byte, ecs.Tick) {
			return func(ecs.Tick) [][]byte { return [][]byte{{1, 2, 3, 250, 250, 250, 7}} }, n.room.Tick() + 500
		}, 1},
		{"empty", func(n *restartableRig) (func(ecs.Tick) [][]byte, ecs.Tick) {
			return func(ecs.Tick) [][]byte { return [][]byte{nil} }, n.room.Tick() + 500
		}, 0},
		{"as large as a message", func(n *restartableRig) (func(ecs.Tick) [][]byte, ecs.Tick) {
			return func(ecs.Tick) [][]byte { return [][]byte{make([]byte, session.MaxTail)} }, 1 << 60
		}, 1},
		{"larger than a tail", func(n *restartableRig) (func(ecs.Tick) [][]byte, ecs.Tick) {
			return func(ecs.Tick) [][]byte { return [][]byte{make([]byte, session.MaxTail+1)} }, 1 << 60
		}, 0},
		{"more ticks than a client keeps", func(n *restartableRig) (func(ecs.Tick) [][]byte, ecs.Tick) {
			tail, f := n.tailOf(2000, n.key, nothing)
			return offers(tail), f
		}, 1},
		{"invented", func(n *restartableRig) (func(ecs.Tick) [][]byte, ecs.Tick) {
			tail, f := n.tailOf(900, []byte("the key of another server"), nothing)
			return offers(tail), f
		}, 1},
		{"endless", func(n *restartableRig) (func(ecs.Tick) [][]byte, ecs.Tick) {
			tail, _ := n.tailOf(1000, n.key, nothing)
			return func(from ecs.Tick) [][]byte {
				body, _, _ := tail.AppendFrom(nil, from, 50) // a few ticks at a time
				return [][]byte{body}
			}, 1 << 60
		}, 0},
		{"twice", func(n *restartableRig) (func(ecs.Tick) [][]byte, ecs.Tick) {
			tail, f := fork(n)
			return func(from ecs.Tick) [][]byte { return append(offers(tail)(from), offers(tail)(from)...) }, f
		}, 1},
		{"none", func(n *restartableRig) (func(ecs.Tick) [][]byte, ecs.Tick) { return nil, n.room.Tick() + 500 }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
				n := newRestartable(nil)
				a, b := n.enter(player(1)), n.enter(player(2))
				n.live()
				n.steps(120)
				n.crash(60)
				began, final := n.room.Tick(), proven(a)
				answer, claims := c.answer(n)
				p := n.enterFake(room.Identity{Role: systems.RoleSpectator}, session.Hello{Match: 1, Have: claims, Final: claims}, answer)
				n.reconnect(a)
				n.reconnect(b)
				n.seconds(16)
				s := n.room.Stats()
				if s.Adopted < uint64(final-began) || s.Adopted > uint64(final-began) && c.name != "endless" || s.TailsRefused != c.refused || n.room.Tick() < final+20 || len(p.asked) == 0 || len(p.asked) > 16 {
					t.Errorf("the journal ended at %d, clients at %d: %+v, asked %v", began, final, s, p.asked)
				}
				if s.Adopted > 1024 || p.welcome == nil || !p.welcome.Image {
					t.Errorf("%+v; it was welcomed with %+v: %v", s, p.welcome, p.session.Err())
				}
				n.live()
				n.mustFollow(a)
				n.mustFollow(b)
			})
		})
	}
}

// Even with the server's key, senseless orders in invented ticks must not break the match for the others.
func TestAMadeUpFutureBreaksNothing(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		n := newRestartable(nil)
		a, b := n.enter(player(1)), n.enter(player(2))
		n.live()
		n.steps(120)
		n.crash(60)
		tail, final := n.tailOf(900, n.key, func(f *record.Tick) {
			for p := range 8 {
				f.Orders = append(f.Orders, image.Order{Kind: image.OrderLeave, Player: ecs.Player(p)}, image.Order{Kind: image.OrderJoin, Player: ecs.Player(7 - p)},
					image.Order{Kind: image.OrderGame, Player: ecs.Player(p), Entity: ecs.Entity{Row: 1 << 31, Born: 1 << 40}, Payload: []byte{1}})
			}
		})
		forger := n.enterFake(room.Identity{Role: systems.RoleSpectator}, session.Hello{Match: 1, Final: final}, offers(tail))
		n.reconnect(a)
		n.reconnect(b)
		n.seconds(20)
		n.live()
		n.mustFollow(a)
		n.mustFollow(b)
		if s := n.room.Stats(); s.Adopted < 894 || n.room.World().Players() != 1<<a.core.Seat()|1<<b.core.Seat() || s.Players != 2 || len(forger.asked) == 0 {
			t.Errorf("%+v, players %b", s, n.room.World().Players())
		}
	})
}

// A frame of lockstep holds 64 orders, a tick of other strategies 255. Invented ticks with more must not reach a codec.
func TestAMadeUpTickWithTooManyOrdersBreaksNothing(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		n := newRestartable(nil)
		a := n.enter(player(1))
		n.live()
		n.steps(120)
		n.crash(60)
		_, at := n.prover(n.key)
		last := (at.Tick + 100) / 6 * 6 // proven
		tail, final := n.tailOf(100, n.key, func(f *record.Tick) {
			for range 100 * (f.Tick / last) {
				f.Orders = append(f.Orders, image.Order{Kind: image.OrderGame, Player: 0, Payload: []byte{1}})
			}
		})
		forger := n.enterFake(room.Identity{Role: systems.RoleSpectator}, session.Hello{Match: 1, Final: final}, offers(tail))
		n.reconnect(a)
		n.seconds(20)
		n.live()
		n.mustFollow(a)
		if s := n.room.Stats(); s.Adopted+s.TailsRefused != uint64(last-at.Tick) || s.TailsRefused > 1 || len(forger.asked) == 0 {
			t.Errorf("%+v", s)
		}
	})
}

// The tail of a client is kept when its connection is lost again, even if another client has its place by then.
func TestATailOutlivesItsConnectionAndAPlaceIsGivenAgain(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		n := newRestartable(nil)
		a, b := n.enter(player(1)), n.enter(player(2))
		n.live()
		n.steps(120)
		n.crash(60)
		began, final := n.room.Tick(), proven(a)
		n.reconnect(a)
		n.steps(5)
		place := a.peer
		n.room.Vanish(a.peer, n.now)
		a.in = false
		p := n.enterFake(room.Identity{Role: systems.RoleSpectator}, session.Hello{Match: 1}, nil) // sends a Hello in the same place
		if p.peer != place {
			t.Fatalf("the place is %d, was %d", p.peer, place)
		}
		n.steps(5)
		b.core.Leave() // its tail is removed with it
		n.seconds(16)
		if s := n.room.Stats(); s.Adopted != uint64(final-began) || p.welcome == nil {
			t.Errorf("the journal ended at %d, the client at %d: %+v, welcome %+v", began, final, s, p.welcome)
		}
		n.reconnect(a)
		n.live()
		n.mustFollow(a)
	})
}

// A tail that arrives after the wait is not counted as malformed.
func TestATailThatComesTooLateIsNoFault(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		n := newRestartable(nil)
		a := n.enter(player(1))
		n.live()
		n.steps(60)
		n.crash(30)
		p := n.enterFake(room.Identity{Role: systems.RoleSpectator}, session.Hello{Match: 1, Final: n.room.Tick() + 9}, nil)
		n.reconnect(a)
		n.seconds(16)
		tail, _ := n.tailOf(12, n.key, func(*record.Tick) {})
		p.up.Send(systems.Reliable, append([]byte{byteTail}, offers(tail)(p.asked[0])[0]...))
		n.steps(5)
		for _, info := range n.room.AppendPeers(nil) {
			if info.Session.Malformed > 0 {
				t.Errorf("peer %d: %+v", info.Peer, info.Session)
			}
		}
		n.mustFollow(a)
	})
}

// servesAnyState is a server half that can serve a peer with a state of any tick.
type servesAnyState struct{ systems.FullServer }

func (servesAnyState) Serves(ecs.Tick) bool { return true }

// If a strategy can go on from any state, only the hash chain distinguishes a state of this match from one of lost ticks.
// The journal has the chain of the ticks before the restart.
func TestAnOldStateIsGoneOnFromOnlyIfItsChainIsTheJournals(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		for _, known := range []bool{true, false} {
			n := newRestartable(func(c *room.Config) {
				open := c.Strategy.NewServer
				c.Strategy.NewServer = func(c systems.ServerConfig) (systems.Server, error) {
					server, err := open(c)
					return servesAnyState{systems.Full(server)}, err
				}
				if c.Resume != nil && !known {
					c.Resume.ChainAt = nil
				}
			})
			n.steps(100)
			beyond := n.enterFake(room.Identity{Role: systems.RoleSpectator}, session.Hello{Match: 1, Have: 150, Chain: 4711}, nil)
			n.steps(3)
			if beyond.welcome == nil || !beyond.welcome.Image {
				t.Errorf("a client with tick 150 at tick %d was welcomed with %+v", n.room.Tick(), beyond.welcome)
			}
			n.room.Kick(beyond.peer, "")
			n.crash(0)
			resume, err := n.journal.Resume()
			if err != nil {
				t.Fatal(err)
			}
			chain, ok := resume.ChainAt(50)
			if !ok || chain == 0 {
				t.Fatalf("chain %x, %v", chain, ok)
			}
			right := n.enterFake(room.Identity{Role: systems.RoleSpectator}, session.Hello{Match: 1, Have: 50, Chain: uint64(chain)}, nil)
			wrong := n.enterFake(room.Identity{Role: systems.RoleSpectator}, session.Hello{Match: 1, Have: 50, Chain: uint64(chain) + 1}, nil)
			n.steps(5)
			if right.welcome == nil || wrong.welcome == nil || right.welcome.Image == known || !wrong.welcome.Image {
				t.Errorf("chains known: %v; the right one was welcomed with %+v, the wrong one with %+v", known, right.welcome, wrong.welcome)
			}
		}
	})
}

// An image of the tick with which a match goes on has the hash chain of the journal. A client that loads it can offer the
// ticks since after the next restart.
func TestTheFirstImageAfterARestartHasTheChainOfTheJournal(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		n := newRestartable(nil)
		n.steps(100)
		n.crash(0)
		resume, err := n.journal.Resume()
		if err != nil {
			t.Fatal(err)
		}
		p := n.enterFake(room.Identity{Role: systems.RoleSpectator}, session.Hello{}, nil)
		n.steps(10)
		if e := p.loaded; resume.Chain == 0 || e.Kind != session.EventImage || e.Tick != resume.World.Tick() || e.Chain != uint64(resume.Chain) {
			t.Errorf("the image is of tick %d with chain %x, the journal ends in tick %d with chain %x", e.Tick, e.Chain, resume.World.Tick(), resume.Chain)
		}
	})
}

// A client does not go on from a state that is not of the match. Its tick may be one that the server does not have, or one
// that the server computed differently after one of two restarts.
func TestAStateOfLostTicksIsNeverGoneOnFrom(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		n := newRestartable(nil)
		a := n.enter(player(1))
		n.live()
		n.steps(60)
		had, chain := n.room.Tick(), uint64(4711)
		n.crash(30)
		for range 2 { // the second time, tick had is in the journal, another one
			n.reconnect(a)
			n.seconds(16)
			for _, hello := range []session.Hello{
				{Match: 1, Have: n.room.Tick() + 100, Chain: chain},
				{Match: 1, Have: had, Chain: chain},
				{Match: 1, Have: n.room.Tick() - 1, Chain: chain},
				{Match: 2, Have: had},
				{Match: 1, Have: 1},
			} {
				p := n.enterFake(room.Identity{Role: systems.RoleSpectator}, hello, nil)
				n.steps(3)
				if p.welcome == nil || !p.welcome.Image {
					t.Errorf("%+v at tick %d was welcomed with %+v", hello, n.room.Tick(), p.welcome)
				}
				n.room.Kick(p.peer, "")
				n.steps(60)
			}
			n.crash(0)
		}
	})
}

// observedOpen is a server half that calls now when a peer is opened.
type observedOpen struct {
	systems.FullServer
	now func()
}

func (o *observedOpen) Open(p systems.Peer, seat int, have ecs.Tick, now systems.Time, out systems.Outbox) {
	o.now()
	o.FullServer.Open(p, seat, have, now, out)
}

// Before its ticks are written, a room sends nothing about them: neither to players, nor to new clients, nor to clients
// that have just loaded a state. It computes no further tick meanwhile, and goes on by itself.
func TestNothingOfATickLeavesBeforeItIsWritten(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		fresh, proofs := 0, 0
		// Each delay between the Hello of a new client and its opening; and a long one, after which the next needs a new image.
		for _, delay := range []int{0, 1, 2, 3, 4, 5, 6, 7, 60} {
			var n *restartableRig
			n = newRestartable(func(c *room.Config) {
				open := c.Strategy.NewServer
				c.Strategy.NewServer = func(c systems.ServerConfig) (systems.Server, error) {
					server, err := open(c)
					return &observedOpen{FullServer: systems.Full(server), now: func() {
						if n != nil && n.journal.Fail != nil && n.room.Stats().Unwritten > 0 {
							t.Error("a peer was opened while ticks were not written")
						}
					}}, err
				}
			})
			a, b := n.enter(player(1)), n.enter(player(2))
			n.live()
			n.steps(60)
			early := n.enter(player(3))
			n.steps(delay)
			last := n.room.Tick() // written
			n.journal.Fail = errors.New("disk full")
			clear(n.sent)
			n.step() // nothing about this tick may be sent
			if (last+1)%6 == 0 {
				proofs++
			}
			if n.sent[byteProof] != 0 {
				t.Error("a proof was sent of a tick that is not written")
			}
			late := n.enter(player(4))
			clear(n.sent)
			n.newest = 0
			images := n.room.Stats().Images
			n.seconds(2)
			if n.room.Tick() != last+1 || n.sent[byteStrategy] != 0 || n.sent[byteProof] != 0 || n.newest > last {
				t.Errorf("after tick %d was written the room is at %d and sent %v, images up to tick %d", last, n.room.Tick(), n.sent, n.newest)
			}
			if n.room.Stats().Images > images {
				fresh++
			}
			for _, v := range []*testClient{a, b, early, late} {
				if confirmed(v) > last {
					t.Errorf("a client confirmed tick %d, %d is written", confirmed(v), last)
				}
			}
			if s := n.room.Stats(); s.Unwritten < 100 {
				t.Errorf("%+v", s)
			}
			n.journal.Fail = nil
			n.seconds(15)
			n.live()
			for _, v := range []*testClient{a, b, early, late} {
				n.mustFollow(v)
			}
			if s := n.room.Stats(); s.Resyncs != 0 || s.Late != 0 {
				t.Errorf("%+v", s)
			}
		}
		if fresh == 0 || proofs == 0 {
			t.Errorf("%d images of an unwritten tick were requested, %d unwritten ticks have a proof: nothing is tested", fresh, proofs)
		}
	})
}

// Adopted ticks are written before the waiting clients are answered.
func TestAdoptedTicksAreWrittenBeforeTheyAreSent(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		n := newRestartable(nil)
		a, b := n.enter(player(1)), n.enter(player(2))
		n.live()
		n.steps(100)
		n.crash(50)
		n.journal.Fail = errors.New("disk full")
		n.reconnect(a)
		n.reconnect(b)
		clear(n.sent)
		n.seconds(18)
		if n.room.Stats().Adopted == 0 || n.sent[byteWelcome] != 0 || n.sent[bytePiece] != 0 || n.sent[byteStrategy] != 0 {
			t.Errorf("%+v, sent %v", n.room.Stats(), n.sent)
		}
		tick := n.room.Tick()
		n.journal.Fail = nil
		n.step()
		if n.sent[byteWelcome] != 2 || n.room.Tick() > tick+1 {
			t.Errorf("sent %v, tick %d after %d", n.sent, n.room.Tick(), tick)
		}
		n.live()
		n.mustFollow(a)
		n.mustFollow(b)
	})
}

// holding is a server half that holds the next tick until a moment.
type holding struct {
	systems.FullServer
	until systems.Time
	sends int
}

func (h *holding) Hold(now systems.Time) bool { return now < h.until }

func (h *holding) Send(now systems.Time, out systems.Outbox) {
	h.sends++
	h.FullServer.Send(now, out)
}

// A held tick moves the grid of the room: the time of the wait is not computed afterwards. Meanwhile the strategy sends
// again, because the peer it waits for may lack an earlier message.
func TestATickThatHasToWaitMovesTheGrid(t *testing.T) {
	for _, s := range restartable {
		var half *holding
		waits := s
		waits.NewServer = func(c systems.ServerConfig) (systems.Server, error) {
			server, err := s.NewServer(c)
			half = &holding{FullServer: systems.Full(server)}
			return half, err
		}
		g := newRig(t, func(c *room.Config) { c.Strategy = waits })
		v := g.enter(player(1), nil)
		g.live()
		tick := g.room.Tick()
		half.until, half.sends = g.now+systems.Second/2, 0
		g.steps(29)
		if g.room.Tick() != tick || half.sends < 25 {
			t.Errorf("%s: tick %d, then %d, sent %d times", s.Name, tick, g.room.Tick(), half.sends)
		}
		g.steps(61)
		if now := g.room.Tick(); now < tick+59 || now > tick+62 || g.room.Stats().Late != 0 {
			t.Errorf("%s: one and a half seconds after tick %d, of which half a second was waited, tick %d: %+v", s.Name, tick, now, g.room.Stats())
		}
		g.steps(130)
		if v.core.State() != client.Live || g.room.Stats().Resyncs != 0 {
			t.Errorf("%s: the client is %v: %+v", s.Name, v.core.State(), g.room.Stats())
		}
	}
}

// A journal of another game is refused.
func TestAMatchOfAnotherGameIsNotResumed(t *testing.T) {
	game, other := halves.Dots(), halves.Dots()
	world, err := ecs.NewWorld(other, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, resume := range []*room.Resume{{World: world}, {}} {
		_, err := room.New(room.Config{Game: game, Strategy: relay.Strategy, Resume: resume}, 0)
		if !errors.Is(err, room.ErrConfig) {
			t.Errorf("%+v: %v", resume, err)
		}
	}
}

// One of the first two ticks that another build computes has the order of the change, and no player leaves.
func TestAChangeOfTheRulesIsAnOrder(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		rules := image.AppendRules(nil, 1, 2, "the build before")
		var at []ecs.Tick
		n := newRestartable(func(c *room.Config) {
			if c.Resume != nil {
				c.Resume.Rules = rules
			}
			c.Sinks = append(c.Sinks, room.Sink{Tick: func(f systems.FinalTick) {
				for _, o := range f.Orders {
					if o.Kind == image.OrderRules && string(o.Payload) == string(rules) && o.OfServer() {
						at = append(at, f.Tick)
					}
				}
			}})
		})
		a := n.enter(player(1))
		n.live()
		n.steps(100)
		n.crash(0)
		last := n.room.Tick()
		n.reconnect(a)
		n.live()
		n.seconds(1)
		n.mustFollow(a)
		if len(at) != 1 || at[0] < last+1 || at[0] > last+2 || n.count(image.OrderJoin) != 1 || n.count(image.OrderLeave) != 0 {
			t.Errorf("the order is in %d, after %d; orders %v", at, last, n.orders)
		}
		if before, after, build, ok := image.ParseRules(rules); !ok || before != 1 || after != 2 || build != "the build before" {
			t.Errorf("%d, %d, %q, %v", before, after, build, ok)
		}
	})
}

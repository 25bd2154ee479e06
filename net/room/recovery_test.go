package room_test

import (
	"errors"
	"testing"

	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/matchsim"
	"tendon/net/matchtest"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/rollback/journal"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/relay"
)

// restartable are the strategies that the tests of restarts play.
var restartable = []systems.Strategy{relay.Strategy, lockstep.Strategy}

// The first bytes of messages of net/session.
const (
	byteWelcome  = 2
	byteHead     = 4
	bytePiece    = 5
	byteStrategy = 15
	byteTailAsk  = 16
)

// night is a rig whose room keeps a journal, dies, and is begun again.
type night struct {
	*rig
	journal matchsim.Journal
	change  func(*room.Config)
}

// nights runs a test with every strategy.
func nights(t *testing.T, f func(t *testing.T, newNight func(change func(*room.Config)) *night)) {
	for _, s := range restartable {
		t.Run(s.Name, func(t *testing.T) {
			f(t, func(change func(*room.Config)) *night {
				n := &night{change: change}
				n.rig = newRig(t, func(c *room.Config) {
					c.Strategy = s
					n.attach(c)
				})
				return n
			})
		})
	}
}

func (n *night) attach(c *room.Config) {
	if n.change != nil {
		n.change(c)
	}
	if err := n.journal.Attach(c); err != nil {
		panic(err)
	}
}

// enter lets a client in that comes back when it is told to.
func (n *night) enter(id room.Identity) *guest {
	n.t.Helper()
	var v *guest
	v = n.rig.enter(id, func(c *client.Config) {
		c.Attempts = 100
		c.Dial = func([]byte) (session.Transport, error) {
			if v == nil { // the first time, enter does the rest
				return &n.guests[len(n.guests)-1].up, nil
			}
			return &v.up, nil
		}
	})
	return v
}

// crash ends the room and begins another from its journal, without the last writes.
func (n *night) crash(writes int) {
	n.t.Helper()
	n.journal.Cut(writes)
	resume, err := n.journal.Resume()
	if err != nil {
		n.t.Fatal(err)
	}
	n.open(resume, n.attach)
	for _, v := range n.guests {
		v.in, v.up, v.down = false, mail{}, mail{}
	}
	n.others = nil
}

// back makes a guest notice that its connection is gone, and connect again.
func (n *night) back(v *guest) {
	v.up, v.down = mail{}, mail{}
	v.peer, v.refused = n.room.Enter(&v.down, v.identity, n.now)
	v.in = v.refused == nil
	v.core.Lost(errors.New("the connection is gone"), n.now)
	v.core.Frame(n.now)
}

// puppet is a client without a match: it says what a test wants it to.
type puppet struct {
	g        *rig
	session  *session.Client
	peer     systems.Peer
	up, down mail
	answer   func(from ecs.Tick) [][]byte // to a TailAsk; nil: none
	asked    []ecs.Tick
	welcome  *session.Welcome
	dead     bool
}

// knock lets a puppet in that says Hello.
func (g *rig) knock(id room.Identity, h session.Hello, answer func(ecs.Tick) [][]byte) *puppet {
	g.t.Helper()
	p := &puppet{g: g, answer: answer}
	h.Fingerprint = g.game.Fingerprint()
	var err error
	if p.session, err = session.NewClient(session.ClientConfig{Hello: h, Timeout: 100 * systems.Second}, &p.up, g.now); err != nil {
		g.t.Fatal(err)
	}
	if p.peer, err = g.room.Enter(&p.down, id, g.now); err != nil {
		g.t.Fatal(err)
	}
	g.others = append(g.others, p)
	return p
}

func (p *puppet) speak() {
	p.up.deliver(func(ch systems.Channel, m []byte) {
		if !p.dead {
			p.g.room.Receive(p.peer, ch, m, p.g.now)
		}
	})
}

func (p *puppet) listen() {
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
		}
	})
	p.session.Frame(p.g.now)
}

// seconds plays on.
func (n *night) seconds(s int) { n.steps(60 * s) }

// tailOf builds what a client would offer that had so many more ticks than the journal, each changed by f.
func (n *night) tailOf(ticks int, f func(*journal.Tick)) (tail *journal.Tail, final ecs.Tick) {
	n.t.Helper()
	tail, err := journal.NewTail(journal.TailConfig{Game: n.game, Ticks: 1 << 16, Bytes: 1 << 22})
	if err != nil {
		n.t.Fatal(err)
	}
	resume, err := n.journal.Resume()
	if err != nil {
		n.t.Fatal(err)
	}
	tail.Start(journal.PositionOf(resume.World, resume.Chain))
	for i := range ticks {
		tick := journal.Tick{Tick: resume.World.Tick() + ecs.Tick(i) + 1}
		f(&tick)
		if !tail.Append(&tick) {
			n.t.Fatal("the tail refused a tick")
		}
	}
	final, _, _ = tail.Newest()
	return tail, final
}

// offers answers with a tail.
func offers(tail *journal.Tail) func(ecs.Tick) [][]byte {
	return func(from ecs.Tick) [][]byte {
		body, _, _ := tail.AppendFrom(nil, from, session.MaxTail)
		return [][]byte{body}
	}
}

func confirmed(v *guest) ecs.Tick { return v.core.Stats().Strategy.Confirmed }

// fits demands that a guest is in the match, and in step with it.
func (n *night) fits(v *guest) {
	n.t.Helper()
	st := v.core.Stats()
	if v.core.State() != client.Live || st.Strategy.Confirmed+5 < n.room.Tick() || st.Strategy.Confirmed > n.room.Tick() || st.Session.Malformed > 0 {
		n.t.Errorf("the client is %v (%v) at tick %d, the server at %d, %d messages malformed", v.core.State(), v.core.Err(), st.Strategy.Confirmed,
			n.room.Tick(), st.Session.Malformed)
	}
	n.steps(130) // two checksums are compared
	if again := v.core.Stats(); again.Resyncs != st.Resyncs {
		n.t.Errorf("the client was put right %d times", again.Resyncs-st.Resyncs)
	}
}

// While a room waits for its players there is no tick and no order, and nobody is answered; when all are back and have
// no more than the journal it goes on at once.
func TestARoomWaitsForItsPlayersAndGoesOnWhenAllAreBack(t *testing.T) {
	nights(t, func(t *testing.T, newNight func(func(*room.Config)) *night) {
		n := newNight(nil)
		a, b := n.enter(player(1)), n.enter(player(2))
		n.live()
		n.steps(100)
		n.crash(0)
		tick := n.room.Tick()
		n.back(a)
		n.seconds(7) // longer than a session waits in silence
		if n.room.Tick() != tick || a.core.State() == client.Live || a.core.State() == client.Ended {
			t.Fatalf("the room went on from tick %d to %d, who is back is %v", tick, n.room.Tick(), a.core.State())
		}
		if s := a.core.Stats(); s.Reconnects != 1 {
			t.Errorf("who waits connected again %d times", s.Reconnects)
		}
		n.back(b)
		n.steps(2)
		if n.room.Tick() == tick {
			t.Error("all are back and the room waits")
		}
		n.live()
		n.fits(a)
		n.fits(b)
		if s := n.room.Stats(); s.Late != 0 || s.Deferred != 0 || s.Adopted != 0 {
			t.Errorf("%+v", s)
		}
		if n.count(ecs.OrderJoin) != 2 || n.count(ecs.OrderLeave) != 0 {
			t.Errorf("orders %v", n.orders)
		}
	})
}

// A room that nobody held a seat in goes on when somebody comes, not fifteen seconds later.
func TestAnIdleRoomDoesNotKeepItsFirstPlayerWaiting(t *testing.T) {
	nights(t, func(t *testing.T, newNight func(func(*room.Config)) *night) {
		n := newNight(nil)
		n.steps(100)
		n.crash(0)
		n.steps(60)
		v := n.enter(player(1))
		n.live()
		if n.frame > 300 {
			t.Errorf("live in frame %d", n.frame)
		}
		n.fits(v)
	})
}

// Seats belong to clients, not to connections or to processes of the server.
func TestSeatsSurviveARestart(t *testing.T) {
	nights(t, func(t *testing.T, newNight func(func(*room.Config)) *night) {
		n := newNight(nil)
		a, b := n.enter(room.Identity{Seat: 3, ClientID: 1, Name: "ann"}), n.enter(room.Identity{Seat: 0, ClientID: 2})
		n.live()
		n.crash(0)
		if s := n.room.SeatAt(3); s != (room.Seat{Held: true, Client: 1, Name: "ann"}) {
			t.Errorf("seat 3 is %+v", s)
		}
		thief := n.enter(room.Identity{Seat: 3, ClientID: 9})
		stranger := n.enter(player(8))
		n.steps(5)
		ended(t, thief, session.CodeSeat)
		n.back(b)
		n.back(a)
		n.live()
		if a.core.Seat() != 3 || b.core.Seat() != 0 || stranger.core.Seat() != 1 {
			t.Errorf("seats %d, %d and %d, want 3, 0 and 1 for the stranger", a.core.Seat(), b.core.Seat(), stranger.core.Seat())
		}
		n.crash(0)
		n.back(b)
		n.back(stranger)
		n.seconds(16) // without the one on seat 3
		n.fits(b)
		if !n.room.World().Players().Has(3) || !n.room.SeatAt(3).Held {
			t.Error("who has not come back yet has lost the seat")
		}
		n.seconds(35)
		if n.room.World().Players().Has(3) || n.room.SeatAt(3).Held {
			t.Error("who did not come back has kept the seat")
		}
		if n.count(ecs.OrderLeave) != 1 {
			t.Errorf("orders %v", n.orders)
		}
	})
}

// What clients hand in holds joins and leaves. A player who joined in ticks that the journal lost is in the match and
// does not join again; one who left in them is out of it, and joins again if it comes back.
func TestJoinsAndLeavesInATailCount(t *testing.T) {
	nights(t, func(t *testing.T, newNight func(func(*room.Config)) *night) {
		n := newNight(nil)
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
		n.back(a)
		n.back(late)
		other := n.rig.enter(player(2), nil) // a new process of who left
		n.seconds(16)
		n.live()
		for _, v := range []*guest{a, late, other} {
			n.fits(v)
			if !n.room.World().Players().Has(ecs.Player(v.core.Seat())) {
				t.Errorf("who sits on seat %d is not in the match", v.core.Seat())
			}
		}
		if s := n.room.Stats(); s.Adopted == 0 || s.TailsRefused != 0 || s.Players != 3 {
			t.Errorf("%+v", s)
		}
		if n.count(ecs.OrderJoin) != 2 || n.count(ecs.OrderLeave) != 1 { // one of each in the tail
			t.Errorf("orders since tick %d: %v", written, n.orders)
		}
	})
}

// If anything was lost another one may have more of it, who is not back yet: a spectator, or somebody whose seat was
// lost with the rest. The room waits for as long as it may.
func TestTheLongestTailCountsThoughItComesLast(t *testing.T) {
	nights(t, func(t *testing.T, newNight func(func(*room.Config)) *night) {
		n := newNight(nil)
		a, b := n.enter(player(1)), n.enter(player(2))
		watcher := n.enter(room.Identity{Role: systems.RoleSpectator})
		n.live()
		n.steps(60)
		a.silent, b.silent = true, true
		n.steps(20)
		a.silent, b.silent = false, false
		n.crash(60)
		began, final := n.room.Tick(), confirmed(watcher)
		if confirmed(a)+15 > final || confirmed(a) < began+10 {
			t.Fatalf("the journal ends at %d, a player at %d and a spectator at %d", began, confirmed(a), final)
		}
		n.back(a)
		n.back(b)
		n.seconds(8)
		n.back(watcher)
		n.seconds(8)
		n.live()
		for _, v := range []*guest{a, b, watcher} {
			n.fits(v)
		}
		// A client may hold ticks in hand that it has not computed yet.
		if s := n.room.Stats(); s.Adopted < uint64(final-began) || s.Adopted > uint64(final-began)+10 {
			t.Errorf("the journal ended at %d, a spectator at %d: %+v", began, final, s)
		}
	})
}

// Whoever said goodbye while the room waits leaves after it: an order in ticks that are handed in would make them
// others.
func TestNoOrderIsStampedWhileTheRoomWaits(t *testing.T) {
	nights(t, func(t *testing.T, newNight func(func(*room.Config)) *night) {
		n := newNight(func(c *room.Config) {
			if c.Resume != nil {
				c.Resume.Wait = 60 * systems.Second // longer than a seat is kept
			}
		})
		a, b := n.enter(player(1)), n.enter(player(2))
		n.enter(player(3)) // who never comes back
		n.live()
		n.steps(120)
		n.crash(60)
		clear(n.sent)
		n.back(a)
		n.back(b)
		n.steps(5)
		b.core.Leave()
		n.seconds(61)
		n.live()
		n.fits(a)
		if s := n.room.Stats(); s.Adopted < 55 || s.Players != 1 || n.count(ecs.OrderLeave) != 2 || a.core.Stats().Resyncs != 0 {
			t.Errorf("%+v, orders %v, %d resyncs", s, n.orders, a.core.Stats().Resyncs)
		}
		if n.sent[byteHead] != 0 {
			t.Error("the client who handed in the ticks needed an image: they have become others")
		}
	})
}

// A seat that was given up while the tick in which its player leaves was lost: the player must not stand around for ever,
// nor be a stranger's.
func TestAPlayerWhoseLeavingWasLostLeaves(t *testing.T) {
	nights(t, func(t *testing.T, newNight func(func(*room.Config)) *night) {
		n := newNight(nil)
		a, b := n.enter(player(1)), n.enter(player(2))
		n.live()
		b.core.Leave()
		n.step() // the seat is free, the order is stamped ahead
		seat := ecs.Player(b.core.Seat())
		n.crash(0)
		if n.play.Name == lockstep.Strategy.Name && !n.room.World().Players().Has(seat) {
			return // whoever leaves has left in the next tick
		}
		if !n.room.World().Players().Has(seat) || n.room.SeatAt(int(seat)).Held {
			t.Fatalf("players %b, seat %+v: nothing is tested", n.room.World().Players(), n.room.SeatAt(int(seat)))
		}
		stranger := n.enter(player(3))
		n.back(a)
		n.live()
		n.fits(a)
		n.fits(stranger)
		if n.count(ecs.OrderLeave) != 1 || n.room.World().Players() != 1<<a.core.Seat()|1<<stranger.core.Seat() || stranger.core.Seat() == int(seat) {
			t.Errorf("players %b, seats %d and %d, orders %v", n.room.World().Players(), a.core.Seat(), stranger.core.Seat(), n.orders)
		}
	})
}

// A client's bytes never hurt anybody: the match goes on with the others', at the latest when the wait is over.
func TestHostileTails(t *testing.T) {
	fork := func(n *night) (*journal.Tail, ecs.Tick) { // of another past
		tail, err := journal.NewTail(journal.TailConfig{Game: n.game})
		if err != nil {
			t.Fatal(err)
		}
		tail.Start(journal.Position{Tick: n.room.Tick(), Chain: 77})
		for i := range 50 {
			tail.Append(&journal.Tick{Tick: n.room.Tick() + ecs.Tick(i) + 1})
		}
		f, _, _ := tail.Newest()
		return tail, f
	}
	nothing := func(*journal.Tick) {}
	for _, c := range []struct {
		name    string
		answer  func(n *night) (answer func(ecs.Tick) [][]byte, final ecs.Tick)
		refused uint64
	}{
		{"forked", func(n *night) (func(ecs.Tick) [][]byte, ecs.Tick) { tail, f := fork(n); return offers(tail), f }, 1},
		{"garbage", func(n *night) (func(ecs.Tick) [][]byte, ecs.Tick) {
			return func(ecs.Tick) [][]byte { return [][]byte{{1, 2, 3, 250, 250, 250, 7}} }, n.room.Tick() + 500
		}, 1},
		{"empty", func(n *night) (func(ecs.Tick) [][]byte, ecs.Tick) {
			return func(ecs.Tick) [][]byte { return [][]byte{nil} }, n.room.Tick() + 500
		}, 0},
		{"as large as a message", func(n *night) (func(ecs.Tick) [][]byte, ecs.Tick) {
			return func(ecs.Tick) [][]byte { return [][]byte{make([]byte, session.MaxTail)} }, 1 << 60
		}, 1},
		{"larger than a tail", func(n *night) (func(ecs.Tick) [][]byte, ecs.Tick) {
			return func(ecs.Tick) [][]byte { return [][]byte{make([]byte, session.MaxTail+1)} }, 1 << 60
		}, 0},
		{"more ticks than a client keeps", func(n *night) (func(ecs.Tick) [][]byte, ecs.Tick) {
			tail, f := n.tailOf(2000, nothing)
			return offers(tail), f
		}, 1},
		{"endless", func(n *night) (func(ecs.Tick) [][]byte, ecs.Tick) {
			tail, _ := n.tailOf(1000, nothing)
			return func(from ecs.Tick) [][]byte {
				body, _, _ := tail.AppendFrom(nil, from, 40) // a few ticks at a time
				return [][]byte{body}
			}, 1 << 60
		}, 0},
		{"twice", func(n *night) (func(ecs.Tick) [][]byte, ecs.Tick) {
			tail, f := fork(n)
			return func(from ecs.Tick) [][]byte { return append(offers(tail)(from), offers(tail)(from)...) }, f
		}, 1},
		{"none", func(n *night) (func(ecs.Tick) [][]byte, ecs.Tick) { return nil, n.room.Tick() + 500 }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			nights(t, func(t *testing.T, newNight func(func(*room.Config)) *night) {
				n := newNight(nil)
				a, b := n.enter(player(1)), n.enter(player(2))
				n.live()
				n.steps(120)
				n.crash(60)
				began, final := n.room.Tick(), confirmed(a)
				answer, claims := c.answer(n)
				p := n.knock(room.Identity{Role: systems.RoleSpectator}, session.Hello{Match: 1, Have: claims, Final: claims}, answer)
				n.back(a)
				n.back(b)
				n.seconds(16)
				s := n.room.Stats()
				if s.Adopted < uint64(final-began) || s.TailsRefused != c.refused || n.room.Tick() < final+20 || len(p.asked) == 0 || len(p.asked) > 16 {
					t.Errorf("the journal ended at %d, clients at %d: %+v, asked %v", began, final, s, p.asked)
				}
				if s.Adopted > 1024 || p.welcome == nil || !p.welcome.Image {
					t.Errorf("%+v; it was welcomed with %+v: %v", s, p.welcome, p.session.Err())
				}
				n.live()
				n.fits(a)
				n.fits(b)
			})
		})
	}
}

// A liar who holds the past can make up a future that nobody can tell from a true one; what it must not do is break the
// match for the others with orders that make no sense.
func TestAMadeUpFutureBreaksNothing(t *testing.T) {
	nights(t, func(t *testing.T, newNight func(func(*room.Config)) *night) {
		n := newNight(nil)
		a, b := n.enter(player(1)), n.enter(player(2))
		n.live()
		n.steps(120)
		n.crash(60)
		tail, final := n.tailOf(900, func(f *journal.Tick) {
			for p := range 8 {
				f.Orders = append(f.Orders, ecs.Order{Kind: ecs.OrderLeave, Player: ecs.Player(p)}, ecs.Order{Kind: ecs.OrderJoin, Player: ecs.Player(7 - p)},
					ecs.Order{Kind: ecs.OrderGame, Player: ecs.Player(p), Entity: ecs.Entity{Row: 1 << 31, Born: 1 << 40}, Payload: []byte{1}})
			}
		})
		liar := n.knock(room.Identity{Role: systems.RoleSpectator}, session.Hello{Match: 1, Final: final}, offers(tail))
		n.back(a)
		n.back(b)
		n.seconds(20)
		n.live()
		n.fits(a)
		n.fits(b)
		if s := n.room.Stats(); s.Adopted != 900 || n.room.World().Players() != 1<<a.core.Seat()|1<<b.core.Seat() || s.Players != 2 || len(liar.asked) == 0 {
			t.Errorf("%+v, players %b", s, n.room.World().Players())
		}
	})
}

// A frame of lockstep holds 64 orders, and a tick of other strategies 255: what a liar makes up beyond that must not reach
// a codec that has no room for it.
func TestAMadeUpTickWithTooManyOrdersBreaksNothing(t *testing.T) {
	nights(t, func(t *testing.T, newNight func(func(*room.Config)) *night) {
		n := newNight(nil)
		a := n.enter(player(1))
		n.live()
		n.steps(120)
		n.crash(60)
		ticks := 0
		tail, final := n.tailOf(100, func(f *journal.Tick) {
			for range 100 * (ticks / 99) { // the last one
				f.Orders = append(f.Orders, ecs.Order{Kind: ecs.OrderGame, Player: 0, Payload: []byte{1}})
			}
			ticks++
		})
		liar := n.knock(room.Identity{Role: systems.RoleSpectator}, session.Hello{Match: 1, Final: final}, offers(tail))
		n.back(a)
		n.seconds(20)
		n.live()
		n.fits(a)
		if s := n.room.Stats(); s.Adopted+s.TailsRefused != 100 || s.Adopted < 99 || len(liar.asked) == 0 {
			t.Errorf("%+v", s)
		}
	})
}

// What a client handed in before its connection broke again is not lost, and its place may be another's by then.
func TestATailOutlivesItsConnectionAndAPlaceIsGivenAgain(t *testing.T) {
	nights(t, func(t *testing.T, newNight func(func(*room.Config)) *night) {
		n := newNight(nil)
		a, b := n.enter(player(1)), n.enter(player(2))
		n.live()
		n.steps(120)
		n.crash(60)
		began, final := n.room.Tick(), confirmed(a)
		n.back(a)
		n.steps(5)
		place := a.peer
		n.room.Vanish(a.peer, n.now)
		a.in = false
		p := n.knock(room.Identity{Role: systems.RoleSpectator}, session.Hello{Match: 1}, nil) // says Hello in the same place
		if p.peer != place {
			t.Fatalf("the place is %d, was %d", p.peer, place)
		}
		n.steps(5)
		b.core.Leave() // and its tail is gone with it
		n.seconds(16)
		if s := n.room.Stats(); s.Adopted != uint64(final-began) || p.welcome == nil {
			t.Errorf("the journal ended at %d, the client at %d: %+v, welcome %+v", began, final, s, p.welcome)
		}
		n.back(a)
		n.live()
		n.fits(a)
	})
}

// An answer that comes when the room goes on already is no fault of the client's.
func TestATailThatComesTooLateIsNoFault(t *testing.T) {
	nights(t, func(t *testing.T, newNight func(func(*room.Config)) *night) {
		n := newNight(nil)
		a := n.enter(player(1))
		n.live()
		n.steps(60)
		n.crash(30)
		p := n.knock(room.Identity{Role: systems.RoleSpectator}, session.Hello{Match: 1, Final: n.room.Tick() + 9}, nil)
		n.back(a)
		n.seconds(16)
		tail, _ := n.tailOf(1, func(*journal.Tick) {})
		p.up.Send(systems.Reliable, append([]byte{17}, offers(tail)(p.asked[0])[0]...))
		n.steps(5)
		for _, info := range n.room.AppendPeers(nil) {
			if info.Session.Malformed > 0 {
				t.Errorf("peer %d: %+v", info.Peer, info.Session)
			}
		}
		n.fits(a)
	})
}

// keeper is a half that can serve whoever holds any state.
type keeper struct{ systems.FullServer }

func (keeper) OldestServable() ecs.Tick { return 0 }

// Where a strategy could go on from any state, only the chain tells one of this match from one of ticks that were lost
// long ago. Those before the restart are in the journal.
func TestAnOldStateIsGoneOnFromOnlyIfItsChainIsTheJournals(t *testing.T) {
	nights(t, func(t *testing.T, newNight func(func(*room.Config)) *night) {
		for _, told := range []bool{true, false} {
			n := newNight(func(c *room.Config) {
				open := c.Strategy.NewServer
				c.Strategy.NewServer = func(c systems.ServerConfig) (systems.Server, error) {
					server, err := open(c)
					return keeper{systems.Full(server)}, err
				}
				if c.Resume != nil && !told {
					c.Resume.ChainAt = nil
				}
			})
			n.steps(100)
			beyond := n.knock(room.Identity{Role: systems.RoleSpectator}, session.Hello{Match: 1, Have: 150, Chain: 4711}, nil)
			n.steps(3)
			if beyond.welcome == nil || !beyond.welcome.Image {
				t.Errorf("who has tick 150 at tick %d was welcomed with %+v", n.room.Tick(), beyond.welcome)
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
			right := n.knock(room.Identity{Role: systems.RoleSpectator}, session.Hello{Match: 1, Have: 50, Chain: uint64(chain)}, nil)
			wrong := n.knock(room.Identity{Role: systems.RoleSpectator}, session.Hello{Match: 1, Have: 50, Chain: uint64(chain) + 1}, nil)
			n.steps(5)
			if right.welcome == nil || wrong.welcome == nil || right.welcome.Image == told || !wrong.welcome.Image {
				t.Errorf("chains told: %v; the right one was welcomed with %+v, the wrong one with %+v", told, right.welcome, wrong.welcome)
			}
		}
	})
}

// A client is never sent on from a state that is not the match's: not from a tick that the server has not got, not from
// one that it computed otherwise after this restart or after the one before it.
func TestAStateOfLostTicksIsNeverGoneOnFrom(t *testing.T) {
	nights(t, func(t *testing.T, newNight func(func(*room.Config)) *night) {
		n := newNight(nil)
		a := n.enter(player(1))
		n.live()
		n.steps(60)
		had, chain := n.room.Tick(), uint64(4711)
		n.crash(30)
		for range 2 { // the second time, tick had is in the journal, another one
			n.back(a)
			n.seconds(16)
			for _, hello := range []session.Hello{
				{Match: 1, Have: n.room.Tick() + 100, Chain: chain},
				{Match: 1, Have: had, Chain: chain},
				{Match: 1, Have: n.room.Tick() - 1, Chain: chain},
				{Match: 2, Have: had},
				{Match: 1, Have: 1},
			} {
				p := n.knock(room.Identity{Role: systems.RoleSpectator}, hello, nil)
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

// opened is a half that tells when a peer is opened.
type opened struct {
	systems.FullServer
	now func()
}

func (o *opened) Open(p systems.Peer, seat int, have ecs.Tick, now systems.Time, out systems.Outbox) {
	o.now()
	o.FullServer.Open(p, seat, have, now, out)
}

// Until its ticks are written a room says nothing of them, in whatever way: not to who plays, nor to who comes or has
// just loaded a state. It computes nothing more, and goes on by itself.
func TestNothingOfATickLeavesBeforeItIsWritten(t *testing.T) {
	nights(t, func(t *testing.T, newNight func(func(*room.Config)) *night) {
		fresh := 0
		// From a new client's first word to its being served; and long after, when the next one needs an image of its own.
		for _, delay := range []int{0, 1, 2, 3, 4, 5, 6, 7, 60} {
			var n *night
			n = newNight(func(c *room.Config) {
				open := c.Strategy.NewServer
				c.Strategy.NewServer = func(c systems.ServerConfig) (systems.Server, error) {
					server, err := open(c)
					return &opened{FullServer: systems.Full(server), now: func() {
						if n != nil && n.journal.Fail != nil && n.room.Stats().Unwritten > 0 {
							t.Error("the strategy may speak to a new peer of ticks that are not written")
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
			n.step() // nothing of it may be heard
			late := n.enter(player(4))
			clear(n.sent)
			n.newest = 0
			n.seconds(2)
			if n.room.Tick() != last+1 || n.sent[byteStrategy] != 0 || n.sent[bytePiece] != 0 && n.newest > last {
				t.Errorf("after tick %d was written the room is at %d and sent %v, images up to tick %d", last, n.room.Tick(), n.sent, n.newest)
			}
			if n.newest > last {
				fresh++
			}
			for _, v := range []*guest{a, b, early, late} {
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
			for _, v := range []*guest{a, b, early, late} {
				n.fits(v)
			}
			if s := n.room.Stats(); s.Resyncs != 0 || s.Late != 0 {
				t.Errorf("%+v", s)
			}
		}
		if fresh == 0 {
			t.Error("no image of a tick that is not written was asked for: nothing is tested")
		}
	})
}

// Ticks that were handed in are not durable either: who comes back is answered when they are.
func TestAdoptedTicksAreWrittenBeforeAnybodyHearsOfThem(t *testing.T) {
	nights(t, func(t *testing.T, newNight func(func(*room.Config)) *night) {
		n := newNight(nil)
		a, b := n.enter(player(1)), n.enter(player(2))
		n.live()
		n.steps(100)
		n.crash(50)
		n.back(a)
		n.back(b)
		n.steps(5)
		n.journal.Fail = errors.New("disk full")
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
		n.fits(a)
		n.fits(b)
	})
}

// holder is a half that has to wait for somebody.
type holder struct {
	systems.FullServer
	until systems.Time
	sends int
}

func (h *holder) Hold(now systems.Time) bool { return now < h.until }

func (h *holder) Send(now systems.Time, out systems.Outbox) {
	h.sends++
	h.FullServer.Send(now, out)
}

// A strategy that waits for somebody moves the room's grid: what was waited for is not made up for. What was sent is
// sent again meanwhile: it may be what somebody lacks.
func TestATickThatHasToWaitMovesTheGrid(t *testing.T) {
	for _, s := range restartable {
		var half *holder
		waits := s
		waits.NewServer = func(c systems.ServerConfig) (systems.Server, error) {
			server, err := s.NewServer(c)
			half = &holder{FullServer: systems.Full(server)}
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

// A journal of another game brings nothing back.
func TestAMatchOfAnotherGameIsNotResumed(t *testing.T) {
	game, other := matchtest.Dots(), matchtest.Dots()
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

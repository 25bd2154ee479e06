package room_test

import (
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/rollback/record"
	"tendon/systems"
	"tendon/systems/verify"
)

// forging makes a client change the tails that it returns. forge receives the true ticks of each tail and returns others; the
// proof stays that of the true ones.
func (n *restartableRig) forging(v *testClient, forge func([]record.Tick) []record.Tick) {
	n.t.Helper()
	prover, at := n.prover(n.key)
	say := v.say
	v.say = func(ch systems.Channel, m []byte) {
		if m[0] != byteTail || len(m) == 1 {
			say(ch, m)
			return
		}
		after := prover.Clone()
		offer, err := record.NewCodec(n.game).ReadTail(slices.Clone(m[1:]), at, after)
		if err != nil {
			n.t.Fatalf("the true tail: %v", err)
		}
		var ticks []record.Tick
		for t := range offer.Ticks() {
			tick := *t
			tick.Inputs, tick.Orders = slices.Clone(t.Inputs), slices.Clone(t.Orders)
			ticks = append(ticks, tick)
		}
		forged := record.NewTail(n.game, 2000, 1<<20)
		forged.Start(at)
		for _, tick := range forge(ticks) {
			if !forged.Append(&tick) {
				n.t.Fatal("a tick cannot be forged")
			}
		}
		last, _, _ := forged.Newest()
		forged.Prove(last, after.Proof())
		body, _, ok := forged.AppendFrom([]byte{byteTail}, at.Tick+1, session.MaxTail)
		if !ok {
			n.t.Fatal("there is no forged offer")
		}
		say(ch, body)
	}
}

// forgeries are changes of a true tail.
var forgeries = []struct {
	name  string
	forge func([]record.Tick) []record.Tick
}{
	{"ticks after the proven end", func(ticks []record.Tick) []record.Tick {
		last := ticks[len(ticks)-1]
		for i := range ecs.Tick(960) {
			tick := record.Tick{Tick: last.Tick + i + 1, Inputs: last.Inputs}
			if i%100 == 0 { // honest players surrender
				tick.Orders = []image.Order{{Kind: image.OrderGame, Player: 1, Payload: []byte{9}}, {Kind: image.OrderLeave, Player: 1}}
			}
			ticks = append(ticks, tick)
		}
		return ticks
	}},
	{"another input inside", func(ticks []record.Tick) []record.Tick {
		ticks[7].Inputs[1][0] ^= 1
		return ticks
	}},
	{"another order inside", func(ticks []record.Tick) []record.Tick {
		ticks[7].Orders = []image.Order{{Kind: image.OrderGame, Player: 1, Payload: []byte{9}}}
		return ticks
	}},
	{"another last tick", func(ticks []record.Tick) []record.Tick {
		ticks[len(ticks)-1].Orders = []image.Order{{Kind: image.OrderLeave, Player: 1}}
		return ticks
	}},
}

// mustHaveOnly fails unless the room adopted the ticks up to one, unchanged, and all clients go on from their own states.
func (n *restartableRig) mustHaveOnly(began, last ecs.Tick, refused int) {
	n.t.Helper()
	s := n.room.Stats()
	if s.Adopted != uint64(last-began) || s.TailsRefused != uint64(refused) || s.Players != len(n.clients) || last < began+50 {
		n.t.Errorf("the journal ended at %d, clients can prove ticks up to %d: %+v", began, last, s)
	}
	if n.sent[byteHead] != 0 {
		n.t.Error("a client needed an image: the room has another past")
	}
	if n.count(image.OrderLeave) != 0 {
		n.t.Errorf("orders %v", n.orders)
	}
	for _, v := range n.clients {
		n.mustFollow(v)
	}
}

// A client that changes or invents ticks has no effect on the match: the ticks of the honest client are adopted, in
// either order.
func TestAForgerChangesNothing(t *testing.T) {
	for _, f := range forgeries {
		t.Run(f.name, func(t *testing.T) {
			withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
				for honest := range 2 {
					n := newRestartable(nil)
					list := []*testClient{n.enter(player(1)), n.enter(player(2))}
					n.live()
					n.steps(120)
					n.untilProven(list...)
					n.crash(60)
					clear(n.sent)
					began, last := n.room.Tick(), proven(list[honest])
					n.forging(list[1-honest], f.forge)
					n.reconnect(list[1-honest])
					n.reconnect(list[honest])
					n.seconds(16)
					n.live()
					n.mustHaveOnly(began, last, 1)
				}
			})
		})
	}
}

// One honest client is enough, however many others return the same forged ticks.
func TestAllButOneForge(t *testing.T) {
	for _, f := range forgeries {
		t.Run(f.name, func(t *testing.T) {
			withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
				n := newRestartable(nil)
				for id := range uint64(6) {
					n.enter(player(id + 1))
				}
				n.live()
				n.steps(120)
				n.untilProven(n.clients...)
				n.crash(60)
				clear(n.sent)
				began, last := n.room.Tick(), proven(n.clients[3])
				for i, v := range n.clients {
					if i != 3 {
						n.forging(v, f.forge)
					}
					n.reconnect(v)
				}
				n.seconds(16)
				n.live()
				n.mustHaveOnly(began, last, 5)
			})
		})
	}
}

// If every client forges, none of their ticks is adopted. The match goes on from the journal.
func TestAllForge(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		n := newRestartable(nil)
		a := n.enter(player(1))
		b := n.enter(player(2))
		n.live()
		n.steps(120)
		n.crash(60)
		for _, v := range n.clients {
			n.forging(v, forgeries[0].forge)
			n.reconnect(v)
		}
		n.seconds(16)
		n.live()
		if s := n.room.Stats(); s.Adopted != 0 || s.TailsRefused != 2 || s.Players != 2 {
			t.Errorf("%+v", s)
		}
		n.mustFollow(a)
		n.mustFollow(b)
	})
}

// The tail of an honest client may end early: its connection was bad, or it missed the last proofs. Its ticks up to the last
// proof that it received are adopted. A message of which the end is missing is refused.
func TestATruncatedTail(t *testing.T) {
	for name, c := range map[string]struct {
		before  func(n *restartableRig, v *testClient) // the crash
		cut     int                                    // bytes of the message
		refused uint64
		adopts  bool
	}{
		"the connection was cut": {before: func(n *restartableRig, v *testClient) {
			v.cut = true
			n.steps(31)
			v.cut = false
		}, adopts: true},
		"proofs were lost": {before: func(n *restartableRig, v *testClient) {
			receive := v.receive
			v.receive = func(ch systems.Channel, m []byte) {
				if m[0] != byteProof {
					receive(ch, m)
				}
			}
			n.steps(31)
			v.receive = receive
			if proven(v)+30 > confirmed(v) {
				n.t.Errorf("it can prove tick %d of %d: nothing is tested", proven(v), confirmed(v))
			}
		}, adopts: true},
		"a byte of the message is missing":    {cut: 1, refused: 1},
		"half of the message is missing":      {cut: 20, refused: 1},
		"the whole tail but its head is lost": {cut: 1 << 20, refused: 1},
	} {
		t.Run(name, func(t *testing.T) {
			withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
				n := newRestartable(nil)
				a := n.enter(player(1))
				n.live()
				n.steps(120)
				if c.before != nil {
					c.before(n, a)
				}
				n.crash(70)
				began, last := n.room.Tick(), proven(a)
				say := a.say
				a.say = func(ch systems.Channel, m []byte) {
					if m[0] == byteTail && len(m) > 1 {
						m = m[:max(len(m)-c.cut, 19)]
					}
					say(ch, m)
				}
				n.reconnect(a)
				n.seconds(16)
				n.live()
				want := uint64(0)
				if c.adopts {
					want = uint64(last - began)
				}
				if s := n.room.Stats(); s.Adopted != want || s.TailsRefused != c.refused || last < began+12 {
					t.Errorf("the journal ended at %d, the client can prove ticks up to %d: %+v", began, last, s)
				}
				n.mustFollow(a)
			})
		})
	}
}

// The tail of another match of the same server, or of this match before an earlier restart, has proofs of the server. They do
// not prove that the ticks belong here.
func TestATailOfAnotherPastIsRefused(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		n, other := newRestartable(nil), newRestartable(func(c *room.Config) { c.Match = 2 })
		for _, g := range []*restartableRig{n, other} { // the same in everything but the number of the match
			g.enter(player(1))
			g.live()
			g.steps(120)
			g.untilProven(g.clients...)
			g.crash(60)
		}
		if _, at := n.prover(n.key); at.Tick != other.room.Tick() || proven(n.clients[0]) != proven(other.clients[0]) {
			t.Fatal("nothing is tested")
		}
		var tail []byte // of the other match
		say := other.clients[0].say
		other.clients[0].say = func(ch systems.Channel, m []byte) {
			if m[0] == byteTail && tail == nil {
				tail = slices.Clone(m[1:])
			}
			say(ch, m)
		}
		other.reconnect(other.clients[0])
		other.seconds(16)
		if other.room.Stats().Adopted < 50 {
			t.Fatalf("%+v", other.room.Stats())
		}
		p := n.enterFake(room.Identity{Role: systems.RoleSpectator}, session.Hello{Match: 1, Final: n.room.Tick() + 60},
			func(ecs.Tick) [][]byte { return [][]byte{tail} })
		for began := n.room.Tick(); n.room.Tick() == began; {
			n.step() // without the player
		}
		if s := n.room.Stats(); s.Adopted != 0 || s.TailsRefused != 1 || len(p.asked) != 1 {
			t.Errorf("another match: %+v, asked %v", s, p.asked)
		}
		// The match has gone on without the lost ticks, with another player. It is restarted, and the first player returns them.
		a := n.clients[0]
		n.enter(player(2))
		n.steps(30)
		n.crash(3)
		if proven(a) < n.room.Tick()+6 {
			t.Fatalf("the player can prove tick %d, the journal ends at %d: nothing is tested", proven(a), n.room.Tick())
		}
		n.reconnect(a)
		n.seconds(16)
		n.live()
		if s := n.room.Stats(); s.Adopted != 0 || s.TailsRefused != 1 {
			t.Errorf("another past of this match: %+v", s)
		}
		n.mustFollow(a)
	})
}

// A server that syncs every tick has lost none. One that does not know the digest of its journal cannot check a proof. Neither asks for ticks.
func TestNoTicksAreAskedForThatCannotBeLostOrProven(t *testing.T) {
	for name, change := range map[string]func(n *restartableRig) func(*room.Config){
		"every write is synced": func(n *restartableRig) func(*room.Config) {
			return func(*room.Config) { n.journal.Always = true }
		},
		"no digest": func(*restartableRig) func(*room.Config) {
			return func(c *room.Config) {
				if c.Resume != nil {
					c.Resume.Digest = nil
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
				var n *restartableRig
				synced := name == "every write is synced"
				n = newRestartable(func(c *room.Config) {
					if n != nil {
						change(n)(c)
					}
				})
				a := n.enter(player(1))
				if synced { // from the first room on
					n.journal.Always = true
					n.crash(0)
					n.reconnect(a)
				}
				n.live()
				n.steps(120)
				if synced != (n.sent[byteProof] == 0) {
					t.Errorf("%d proofs were sent", n.sent[byteProof])
				}
				n.crash(60)
				p := n.enterFake(room.Identity{Role: systems.RoleSpectator}, session.Hello{Match: 1, Final: n.room.Tick() + 60}, nil)
				n.reconnect(a)
				n.seconds(2)
				n.live()
				if s := n.room.Stats(); s.Adopted != 0 || s.TailsRefused != 0 || len(p.asked) != 0 {
					t.Errorf("%+v, asked %v", s, p.asked)
				}
				n.mustFollow(a)
			})
		})
	}
}

// Rooms send no proofs if no process could use them: without a key, or without a number of the match. With a strategy whose
// clients have no final ticks, they send none either.
func TestProofsThatHaveNoUseAreNotSent(t *testing.T) {
	for name, change := range map[string]func(*room.Config){
		"none":      func(*room.Config) {},
		"no key":    func(c *room.Config) { c.HistoryKey = nil },
		"no number": func(c *room.Config) { c.Match = 0 },
		"verify":    func(c *room.Config) { c.Strategy = verify.Strategy },
	} {
		g := newRig(t, func(c *room.Config) {
			c.HistoryKey = make([]byte, 32)
			change(c)
		})
		g.enter(player(1), nil)
		g.live()
		g.steps(60)
		if sent := g.sent[byteProof]; (sent >= 10) != (name == "none") || sent > 0 && name != "none" {
			t.Errorf("%s: %d proofs in a second", name, sent)
		}
	}
}

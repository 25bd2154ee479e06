package room_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/net/client"
	"tendon/net/matchsim/halves"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/rollback/record"
	"tendon/systems"
	"tendon/systems/reckon"
	"tendon/systems/relay"
)

// A room reads nothing but its arguments: the same calls send the same bytes, so a fault of production can be repeated.
func TestTheSameCallsSendTheSameBytes(t *testing.T) {
	var sent [2][]byte
	for i := range sent {
		g := newRig(t, nil)
		g.keep = true
		g.enter(player(1), nil)
		g.steps(30)
		g.enter(player(2), nil)
		g.enter(room.Identity{Role: systems.RoleSpectator}, nil)
		g.steps(60)
		g.room.Vanish(g.clients[0].peer, g.now)
		g.steps(30)
		g.room.Kick(g.clients[1].peer, "enough")
		g.steps(60)
		sent[i] = g.traffic
	}
	if len(sent[0]) < 4000 || !bytes.Equal(sent[0], sent[1]) {
		t.Errorf("two runs sent %d and %d bytes, equal: %v", len(sent[0]), len(sent[1]), bytes.Equal(sent[0], sent[1]))
	}
}

// A refused client receives a code on which its program can act. The other clients are not affected.
func TestARefusedClientReceivesTheReason(t *testing.T) {
	t.Run("no place for a connection", func(t *testing.T) {
		g := newRig(t, func(c *room.Config) { c.MaxPeers = 1 })
		g.enter(player(1), nil)
		late := g.enter(player(2), nil)
		g.live()
		if ended(t, late, session.CodeFull); !errors.Is(late.refused, room.ErrRefused) {
			t.Errorf("Enter: %v", late.refused)
		}
		if s := g.room.Stats(); s.Refused != 1 || s.Peers != 1 || s.Players != 1 {
			t.Errorf("%+v", s)
		}
	})
	t.Run("no free seat", func(t *testing.T) {
		game := *halves.Dots()
		game.MaxPlayers = 1
		g := newRig(t, func(c *room.Config) { c.Game = &game })
		g.enter(player(1), nil)
		g.live()
		late := g.enter(player(2), nil)
		g.steps(5)
		ended(t, late, session.CodeFull)
		g.steps(60) // its last messages have arrived
		if !errors.Is(late.gone, &session.Error{Code: session.CodeFull}) || late.in {
			t.Errorf("Gone said %v", late.gone)
		}
	})
	t.Run("the seat is taken", func(t *testing.T) {
		g := newRig(t, nil)
		g.enter(room.Identity{Seat: 3, ClientID: 1}, nil)
		g.live()
		for _, id := range []room.Identity{{Seat: 3, ClientID: 2}, {Seat: 3}, {Seat: 8, ClientID: 3}, {Seat: -2, ClientID: 4}} {
			v := g.enter(id, nil)
			g.steps(5)
			ended(t, v, session.CodeSeat)
		}
		if first := g.clients[0]; first.core.Seat() != 3 || first.core.State() != client.Live {
			t.Errorf("the first client of the seat has seat %d and is %v", first.core.Seat(), first.core.State())
		}
	})
	t.Run("another game", func(t *testing.T) {
		g := newRig(t, nil)
		other := *halves.Dots()
		other.TickRate = 30
		v := g.enter(player(1), func(c *client.Config) { c.Game = &other })
		g.steps(5)
		why := ended(t, v, session.CodeGame)
		if want := "server has " + other.Name; why.Text != want {
			t.Errorf("the refusal says %q, want %q", why.Text, want)
		}
		if why.Ours == why.Theirs || why.Ours != other.Fingerprint() && why.Theirs != other.Fingerprint() {
			t.Errorf("fingerprints %x and %x, the client's game has %x", why.Ours, why.Theirs, other.Fingerprint())
		}
	})
	t.Run("an unknown role", func(t *testing.T) {
		g := newRig(t, nil)
		if v := g.enter(room.Identity{Role: 77}, nil); !errors.Is(v.refused, room.ErrRefused) {
			t.Errorf("Enter: %v", v.refused)
		}
	})
	t.Run("a card that is too large", func(t *testing.T) {
		g := newRig(t, func(c *room.Config) {
			c.Card = func(room.Identity) ecs.Card { return ecs.Card{Data: make([]byte, image.MaxCardData+1)} }
		})
		v := g.enter(player(1), nil)
		g.steps(5)
		if why := ended(t, v, session.CodeInternal); !strings.Contains(why.Text, "at most 160") {
			t.Errorf("the refusal is %q", why.Text)
		}
	})
}

// orderingSpectator is a client that acts as the player of seat 0 and sends an order every tick.
type orderingSpectator struct{ systems.Client }

func (g orderingSpectator) Send(now systems.Time, out systems.Outbox) {
	_ = g.Client.Order(1, ecs.Entity{}, []byte{9}, out)
	g.Client.Send(now, out)
}

// The sealed token decides what a peer may do, never its messages. Inputs and orders of a spectator have no effect.
func TestASpectatorsInputsAndOrdersAreRefused(t *testing.T) {
	g := newRig(t, nil)
	still := g.enter(player(1), func(c *client.Config) { c.Bot = false })
	g.live()
	cheat := relay.Strategy
	cheat.NewClient = func(c systems.ClientConfig) (systems.Client, error) {
		c.Seat = still.core.Seat()
		half, err := relay.NewClient(c)
		return orderingSpectator{half}, err
	}
	spectator := g.enter(room.Identity{Role: systems.RoleSpectator, ClientID: 9}, func(c *client.Config) { c.Strategies = []systems.Strategy{cheat} })
	orders := len(g.orders)
	for range 120 {
		spectator.core.SetInput(ecs.InputBytes{1, 1, 1})
		g.step()
	}
	if len(g.orders) != orders || g.room.World().Players() != 1 {
		t.Errorf("a spectator had %d orders executed; players %b", len(g.orders)-orders, g.room.World().Players())
	}
	if in := g.room.World().Image().Input(0); in != (ecs.InputBytes{}) {
		t.Errorf("a spectator moved the player: % x", in)
	}
	said := uint64(0)
	for _, p := range g.room.AppendPeers(nil) {
		if p.Peer == spectator.peer {
			said = p.Session.Malformed
		}
	}
	if said == 0 && spectator.core.Err() == nil {
		t.Error("no message of the spectator was refused: the test proves nothing")
	}
}

// The seat of a lost connection is kept for exactly KeepSeat.
func TestALostPlayerLeavesAfterKeepSeat(t *testing.T) {
	const keep = systems.Second
	g := newRig(t, func(c *room.Config) { c.KeepSeat = keep })
	g.enter(player(1), nil)
	v := g.enter(player(2), nil)
	g.live()
	v.cut = true
	g.room.Vanish(v.peer, g.now)
	since := g.now
	for g.now+systems.Second/60+1 < since+keep {
		g.step()
	}
	g.room.Frame(since + keep - 1)
	if n := g.room.Stats().Players; n != 2 {
		t.Fatalf("%d seats are taken before KeepSeat is over", n)
	}
	g.room.Frame(since + keep)
	if n := g.room.Stats().Players; n != 1 || g.count(image.OrderLeave) != 0 {
		t.Errorf("%d seats are taken after KeepSeat, %d leaves executed at once", n, g.count(image.OrderLeave))
	}
	g.steps(35) // orders are stamped at most half a second ahead
	if n := g.count(image.OrderLeave); n != 1 || g.room.World().Players().Has(1) {
		t.Errorf("%d leaves, players %b", n, g.room.World().Players())
	}
}

// A client that comes back takes its seat over without OrderLeave and OrderJoin, even while its old connection seems
// alive. Another client gets another seat.
func TestTheSameClientTakesItsSeatOver(t *testing.T) {
	g := newRig(t, nil)
	first := g.enter(player(7), nil)
	g.live()
	again := g.enter(player(7), nil)
	g.live()
	ended(t, first, session.CodeReplaced)
	if again.core.Seat() != 0 || g.room.Stats().Players != 1 {
		t.Errorf("the client that came back has seat %d, %d seats taken", again.core.Seat(), g.room.Stats().Players)
	}
	g.room.Vanish(again.peer, g.now)
	again.in, again.cut = false, true
	third := g.enter(player(7), nil)
	other := g.enter(player(8), nil)
	g.live()
	if g.count(image.OrderJoin) != 2 || g.count(image.OrderLeave) != 0 || third.core.Seat() != 0 || other.core.Seat() != 1 {
		t.Errorf("%d joins, %d leaves, seats %d and %d", g.count(image.OrderJoin), g.count(image.OrderLeave), third.core.Seat(), other.core.Seat())
	}
}

// No seat is kept for a player who is kicked or leaves.
func TestAKickedPlayerAndOneWhoLeavesHaveNoSeat(t *testing.T) {
	g := newRig(t, nil)
	kicked, left := g.enter(player(1), nil), g.enter(player(2), nil)
	g.enter(player(3), nil)
	g.live()
	g.room.Kick(kicked.peer, "for testing")
	left.core.Leave()
	g.steps(40)
	if why := ended(t, kicked, session.CodeKicked); why.Text != "for testing" {
		t.Errorf("the text is %q", why.Text)
	}
	if s := g.room.Stats(); s.Players != 1 || g.count(image.OrderLeave) != 2 || kicked.in || left.in {
		t.Errorf("%+v, %d leaves", s, g.count(image.OrderLeave))
	}
}

// After a pause a room computes every tick that is due, a bounded number per Frame, and counts the late ticks.
func TestNoTickIsSkippedAndAFrameIsBounded(t *testing.T) {
	g := newRig(t, nil)
	now := systems.TickTime(0, 30, 60) + 1000
	for i, want := range []ecs.Tick{8, 16, 24, 30, 30} {
		if g.room.Frame(now); g.room.Tick() != want {
			t.Errorf("after %d Frames the room is at tick %d, want %d", i+1, g.room.Tick(), want)
		}
	}
	for i, f := range g.ticks {
		if f != ecs.Tick(i+1) {
			t.Fatalf("the ticks were %v", g.ticks)
		}
	}
	if s := g.room.Stats(); s.Deferred != 3 || s.Late != 29 || s.MostLate != now-systems.TickTime(0, 1, 60) || len(g.ticks) != 30 {
		t.Errorf("%+v, %d ticks", s, len(g.ticks))
	}
	g.room.Frame(systems.TickTime(0, 31, 60) - 1)
	if g.room.Tick() != 30 {
		t.Error("a tick was computed before it was due")
	}
}

// Close ends every session with a reason. Afterwards no connection is accepted and no tick is computed.
func TestCloseEndsEverySession(t *testing.T) {
	g := newRig(t, nil)
	g.enter(player(1), nil)
	g.enter(room.Identity{Role: systems.RoleSpectator}, nil)
	loading := g.enter(player(2), nil)
	g.clients = g.clients[:2]
	g.live()
	g.clients = append(g.clients, loading)
	tick := g.room.Tick()
	g.room.Close("maintenance")
	if g.room.Closed() {
		t.Error("closed before a peer was sent the reason")
	}
	late := g.enter(player(3), nil)
	g.steps(5)
	for _, v := range g.clients[:3] {
		if why := ended(t, v, session.CodeShutdown); why.Text != "maintenance" {
			t.Errorf("the text is %q", why.Text)
		}
	}
	ended(t, late, session.CodeShutdown)
	g.steps(40)
	if !g.room.Closed() || g.room.Tick() != tick || !errors.Is(late.refused, room.ErrRefused) || g.room.Stats().Peers != 0 {
		t.Errorf("closed: %v, tick %d after %d, Enter: %v, %+v", g.room.Closed(), g.room.Tick(), tick, late.refused, g.room.Stats())
	}
}

// Suspend keeps every seat for the next process, also that of a client whose player has not joined yet.
func TestSuspendKeepsEverySeat(t *testing.T) {
	free := 0
	g := newRig(t, func(c *room.Config) {
		c.Sinks = append(c.Sinks, room.Sink{Seat: func(s record.Seat) {
			if !s.Held {
				free++
			}
		}})
	})
	g.enter(player(1), nil)
	g.live()
	g.enter(player(2), nil)
	g.steps(1)
	tick, leaves := g.room.Tick(), g.count(image.OrderLeave)
	if g.room.Suspended() || g.count(image.OrderJoin) != 1 {
		t.Fatalf("suspended, or %d players have joined", g.count(image.OrderJoin))
	}
	g.room.Suspend()
	late := g.enter(player(3), nil)
	g.steps(40)
	for i, v := range g.clients[:2] {
		ended(t, v, session.CodeRestarting)
		if s := g.room.SeatAt(i); !s.Held || s.Client != uint64(i+1) {
			t.Errorf("seat %d is %+v", i, s)
		}
	}
	ended(t, late, session.CodeRestarting)
	if !g.room.Suspended() || !g.room.Closed() || g.room.Tick() != tick || g.count(image.OrderLeave) != leaves || free > 0 {
		t.Errorf("suspended: %v, closed: %v, tick %d after %d, %d seats became free", g.room.Suspended(), g.room.Closed(), g.room.Tick(), tick, free)
	}
}

// A tick of a room and its clients allocates nothing.
func TestAFrameAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	g := newRig(t, func(c *room.Config) { c.Sinks, c.HistoryKey = nil, make([]byte, 32) })
	for id := range uint64(4) {
		g.enter(player(id+1), nil)
	}
	g.enter(room.Identity{Role: systems.RoleSpectator}, nil)
	g.live()
	g.steps(1200)
	before := g.room.AppendPeers(nil)[0].Session.MessagesReceived
	if n := testing.AllocsPerRun(600, g.step); n != 0 {
		t.Errorf("%v allocations per tick of a room of five and its clients", n)
	}
	if g.clients[0].core.Stats().Proven+12 < g.room.Tick() {
		t.Error("no proofs were sent")
	}
	if got := g.room.AppendPeers(nil)[0].Session.MessagesReceived; got < before+600 || g.room.Stats().Deferred > 0 {
		t.Errorf("a peer sent %d messages in 600 ticks: the test proves nothing", got-before)
	}
}

// A Config that cannot work is refused with the name of the field.
func TestABadConfigNamesTheField(t *testing.T) {
	for field, change := range map[string]func(*room.Config){
		"Game":     func(c *room.Config) { c.Game = nil },
		"Strategy": func(c *room.Config) { c.Strategy = systems.Strategy{} },
		"a Motion role: give one": func(c *room.Config) {
			c.Game, c.Strategy = &ecs.Game{Name: "bare", TickRate: 60, MaxPlayers: 1, Input: c.Game.Input}, reckon.Strategy
		},
		"Params":     func(c *room.Config) { c.Strategy.Params = make([]byte, session.MaxParams+1) },
		"MaxPeers":   func(c *room.Config) { c.MaxPeers = -1 },
		"HistoryKey": func(c *room.Config) { c.HistoryKey = make([]byte, 15) },
		"KeepSeat":   func(c *room.Config) { c.KeepSeat = -1 },
		"ImageRate":  func(c *room.Config) { c.ImageRate = 1023 },
		"Timeout":    func(c *room.Config) { c.Timeout = -1 },
	} {
		c := room.Config{Game: halves.Dots(), Strategy: relay.Strategy}
		change(&c)
		if _, err := room.New(c, 0); !errors.Is(err, room.ErrConfig) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// The number of a peer that has vanished has no effect, and is that of the next peer.
func TestAPeerThatHasVanishedIsIgnored(t *testing.T) {
	g := newRig(t, nil)
	a, b := g.enter(player(1), nil), g.enter(player(2), nil)
	g.steps(60)
	for range 2 {
		g.room.Vanish(b.peer, g.now)
	}
	g.room.Receive(b.peer, systems.Datagram, []byte{1}, g.now)
	g.room.Kick(b.peer, "")
	b.in = false
	if c := g.enter(player(3), nil); c.peer != b.peer || c.refused != nil {
		t.Errorf("the next peer has number %d, want %d: %v", c.peer, b.peer, c.refused)
	}
	g.room.Vanish(a.peer, g.now)
	a.in = false
	g.steps(30)
	if n := len(g.room.AppendPeers(nil)); n != 1 {
		t.Errorf("%d peers, want 1", n)
	}
}

// Clients show a player whose connection is lost until the seat is free, and who is a bot.
func TestClientsShowWhoIsConnected(t *testing.T) {
	const keep = systems.Second
	g := newRig(t, func(c *room.Config) { c.KeepSeat = keep })
	watcher := g.enter(player(1), nil)
	bot := player(2)
	bot.Bot, bot.Name = true, "hal"
	other := g.enter(bot, nil)
	g.live()
	expect := func(when string, want ecs.Seated) {
		t.Helper()
		g.steps(5)
		got := watcher.core.View(g.now).Roster[other.core.Seat()]
		if got.Ping = 0; got != want {
			t.Errorf("%s: %+v, want %+v", when, got, want)
		}
	}
	expect("in the match", ecs.Seated{Name: "hal", Connected: true, Bot: true})
	other.cut = true
	g.room.Vanish(other.peer, g.now)
	expect("the connection is lost", ecs.Seated{Name: "hal", Bot: true})
	again := g.enter(bot, nil)
	g.live()
	expect("back", ecs.Seated{Name: "hal", Connected: true, Bot: true})
	again.core.Leave()
	expect("left", ecs.Seated{})
}

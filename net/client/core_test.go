package client_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/relay"
)

type (
	tile    struct{ A, B uint64 }
	counter struct{ Value, Spare uint64 }
)

var (
	coreTile    = ecs.NewComponent[tile]("tile")
	coreTiles   = ecs.NewQuery1(ecs.Read(coreTile))
	coreCounter = ecs.NewResource[counter]("counter")
)

// tiles is the number of entities before the first player joins.
const tiles = 3000

// game is Dots in a world of several image pieces.
func game() *ecs.Game {
	g := halves.Dots()
	g.Components = append(g.Components, coreTile)
	g.Resources = append(g.Resources, coreCounter)
	g.Setup = func(w *ecs.World) {
		for range tiles {
			coreTile.Put(w, w.Spawn(ecs.OwnedByWorld, coreTile), tile{w.Rand().Uint64(), w.Rand().Uint64()})
		}
	}
	return g
}

func match(t *testing.T, change func(*room.Config)) (*matchsim.Match, simnet.Profile) {
	t.Helper()
	h, err := matchsim.New(matchsim.Config{Game: game(), Strategy: relay.Strategy, Seed: 1, Room: change})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := simnet.ByName("P2")
	return h, p
}

// until plays until done returns true, for at most ten seconds.
func until(t *testing.T, h *matchsim.Match, done func() bool) {
	t.Helper()
	for end := h.Net.Now() + 10*time.Second; !done(); h.Run(time.Second / 240) {
		if h.Net.Now() > end {
			t.Fatal("not within ten seconds")
		}
	}
}

// The states follow one another in this order, and progress never decreases. A client that reconnects in time loads
// nothing: it goes on from its own state.
func TestAClientGoesThroughItsStatesInOrder(t *testing.T) {
	h, p := match(t, nil)
	c := h.Join(matchsim.Plan{Profile: p})
	var seen []client.State
	progress := 0.0
	look := func() {
		if s := c.Core.State(); len(seen) == 0 || seen[len(seen)-1] != s {
			seen = append(seen, s)
			progress = 0
		}
		now := c.Core.Progress()
		if now < progress || now > 1 || c.Core.State() == client.Live && now != 1 {
			t.Errorf("%v: progress went from %v to %v", c.Core.State(), progress, now)
		}
		progress = now
	}
	partly := false
	live := func() bool {
		look()
		partly = partly || c.Core.State() == client.Loading && progress > 0 && progress < 1
		return c.Live()
	}
	until(t, h, live)
	h.Run(time.Second)
	c.Reconnect()
	until(t, h, live)
	c.Leave()
	look()
	want := []client.State{client.Connecting, client.Loading, client.CatchingUp, client.Live,
		client.Reconnecting, client.CatchingUp, client.Live, client.Ended}
	if !slices.Equal(seen, want) || !partly {
		t.Errorf("the client was %v, want %v; part of an image was seen: %v", seen, want, partly)
	}
	if err := c.Core.Err(); !errors.Is(err, &session.Error{Code: session.CodeLeft}) {
		t.Errorf("after Leave: %v", err)
	}
	if n := c.Core.Stats().Reconnects; n != 1 {
		t.Errorf("%d reconnects", n)
	}
}

// Before there is a state, the view is empty and has no seat. Afterwards it shows the match from the seat of the player.
func TestAViewIsEmptyBeforeTheState(t *testing.T) {
	h, p := match(t, nil)
	first, watcher := h.Join(matchsim.Plan{Profile: p}), h.Join(matchsim.Plan{Profile: p, Spectator: true})
	c := h.Join(matchsim.Plan{Profile: p})
	shown := func(c *matchsim.Client) (n int) {
		for range coreTiles.All(c.Core.View(systems.Time(h.Net.LocalNow(c.Node))).Sim) {
			n++
		}
		return n
	}
	for c.Core.State() < client.CatchingUp {
		if n := shown(c); n != 0 || c.Core.View(0).Seat != -1 || c.Core.State() == client.Connecting && c.Core.Seat() != -1 {
			t.Fatalf("%v: the view shows %d tiles, seat %d", c.Core.State(), n, c.Core.View(0).Seat)
		}
		c.Core.Effects(func(systems.Effect) { t.Error("an effect before there is a state") })
		if _, err := c.Core.Order(ecs.Entity{}, nil); !errors.Is(err, client.ErrNotLive) {
			t.Errorf("an order while %v: %v", c.Core.State(), err)
		}
		c.Core.Chat("hello?")
		h.Run(time.Second / 60)
	}
	until(t, h, func() bool { return first.Live() && c.Live() && watcher.Live() })
	seats := map[int]bool{}
	for _, c := range h.Clients {
		if n := shown(c); n != tiles {
			t.Errorf("a live client shows %d tiles", n)
		}
		seat := c.Core.View(systems.Time(h.Net.LocalNow(c.Node))).Seat
		if seat != c.Seat() {
			t.Errorf("View.Seat is %d, the seat %d", seat, c.Seat())
		}
		seats[seat] = true
	}
	if len(seats) != 3 || !seats[-1] {
		t.Errorf("seats %v of two players and a spectator", seats)
	}
	if _, err := watcher.Core.Order(ecs.Entity{}, nil); !errors.Is(err, client.ErrNotLive) {
		t.Errorf("a spectator's order: %v", err)
	}
}

// A refusal is a typed error with a sentence for the player. The client does not try again.
func TestARefusalEndsTheClientWithASentence(t *testing.T) {
	other := game()
	other.MaxPlayers = 3
	renamed := relay.Strategy
	renamed.Name = "other"
	for _, c := range []struct {
		name   string
		room   func(*room.Config)
		client func(*client.Config)
		is     error
	}{
		{"full", func(c *room.Config) { c.MaxPeers = 1 }, nil, &session.Error{Code: session.CodeFull}},
		{"another game", nil, func(c *client.Config) { c.Game = other }, &session.Error{Code: session.CodeGame}},
		{"another strategy", nil, func(c *client.Config) { c.Strategies = []systems.Strategy{renamed} }, client.ErrStrategy},
	} {
		h, p := match(t, c.room)
		h.Join(matchsim.Plan{Profile: p})
		until(t, h, h.Clients[0].Live)
		v := h.Join(matchsim.Plan{Profile: p, Change: c.client})
		h.Run(3 * time.Second)
		err := v.Core.Err()
		if !errors.Is(err, c.is) || v.Core.State() != client.Ended || v.Core.Stats().Reconnects != 0 || len(strings.Fields(err.Error())) < 5 {
			t.Errorf("%s: %v, %v after %d reconnects", c.name, err, v.Core.State(), v.Core.Stats().Reconnects)
		}
		if again := v.Core.Frame(systems.Time(h.Net.LocalNow(v.Node))); again != err {
			t.Errorf("%s: Frame returns %v", c.name, again)
		}
	}
}

// A client refuses a strategy that needs more than its game has.
func TestAClientRefusesAStrategyThatNeedsMoreThanItsGameHas(t *testing.T) {
	bare := &ecs.Game{Name: "bare", TickRate: 60, MaxPlayers: 2, Input: ecs.NewInput[uint8]()}
	moving := relay.Strategy
	moving.Needs.Motion = true
	h, err := matchsim.New(matchsim.Config{Game: bare, Strategy: relay.Strategy, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := simnet.ByName("P0")
	v := h.Join(matchsim.Plan{Profile: p, Change: func(c *client.Config) { c.Bot, c.Strategies = false, []systems.Strategy{moving} }})
	h.Run(3 * time.Second)
	if err := v.Core.Err(); err == nil || !strings.Contains(err.Error(), "has a Motion role") || v.Core.State() != client.Ended || v.Core.Stats().Reconnects != 0 {
		t.Errorf("%v, %v", err, v.Core.State())
	}
}

// A client tries to connect with growing pauses, and ends after Config.GiveUp.
func TestAClientGivesUpInTime(t *testing.T) {
	why := errors.New("no route")
	for giveUp, dials := range map[systems.Time]int{3 * systems.Second: 4, -1: 1} {
		var at []systems.Time
		now := systems.Time(0)
		c, err := client.NewCore(client.Config{Game: game(), Strategies: []systems.Strategy{relay.Strategy}, GiveUp: giveUp,
			Dial: func() (session.Transport, error) {
				at = append(at, now)
				return nil, why
			}})
		if err != nil {
			t.Fatal(err)
		}
		for ; now < 60*systems.Second && c.Frame(now) == nil; now += systems.Second / 10 {
		}
		if c.State() != client.Ended || !errors.Is(c.Err(), client.ErrUnreachable) || !errors.Is(c.Err(), why) {
			t.Errorf("%v: %v, %v", giveUp, c.State(), c.Err())
		}
		want := []systems.Time{0, systems.Second / 10, 11 * systems.Second / 10, 31 * systems.Second / 10}[:dials]
		if !slices.Equal(at, want) {
			t.Errorf("%v: dialed at %v, want %v", giveUp, at, want)
		}
	}
}

// The time of Config.GiveUp begins anew after a success.
func TestTheTimeToGiveUpBeginsAnewAfterASuccess(t *testing.T) {
	h, p := match(t, nil)
	c := h.Join(matchsim.Plan{Profile: p, Change: func(c *client.Config) { c.GiveUp = systems.Second }})
	for range 3 {
		until(t, h, c.Live)
		c.Reconnect()
	}
	until(t, h, c.Live)
	if n := c.Core.Stats().Reconnects; n != 3 {
		t.Errorf("%d reconnects", n)
	}
}

// The difference that a resync found is kept.
func TestADesyncReportIsKept(t *testing.T) {
	h, p := match(t, nil)
	c := h.Join(matchsim.Plan{Profile: p})
	h.Join(matchsim.Plan{Profile: p})
	until(t, h, func() bool { return h.Clients[0].Live() && h.Clients[1].Live() })
	var faults []ecs.Tick
	for range 2 {
		h.Run(4 * time.Second)
		f := h.Room.Tick() + 30
		c.Fault(f, func(w *ecs.World) { coreCounter.Write(w).Value = 77 })
		faults = append(faults, f)
	}
	h.Run(5 * time.Second)
	got := c.Core.Desyncs()
	if len(got) != 2 || c.Core.Stats().Resyncs != 2 {
		t.Fatalf("%d reports and %d resyncs after two faults", len(got), c.Core.Stats().Resyncs)
	}
	for i, d := range got {
		if d.Component != "counter" || d.Field != "Value" || d.Here+d.There != "077" && d.Here+d.There != "770" || d.Tick < faults[i] {
			t.Errorf("counter.Value was made 77 in tick %d: %v", faults[i], d)
		}
	}
}

// A Config that cannot work is refused with the name of the field.
func TestNewCoreNamesTheField(t *testing.T) {
	for field, change := range map[string]func(*client.Config){
		"Game":          func(c *client.Config) { c.Game = nil },
		"Strategies":    func(c *client.Config) { c.Strategies = nil },
		"Dial":          func(c *client.Config) { c.Dial = nil },
		"InputDelay":    func(c *client.Config) { c.InputDelay = 31 },
		"MaxPrediction": func(c *client.Config) { c.MaxPrediction = -1 },
		"Name":          func(c *client.Config) { c.Name = strings.Repeat("x", session.MaxName+1) },
		"Bot":           func(c *client.Config) { c.Game.Bot, c.Bot = nil, true },
	} {
		c := client.Config{Game: game(), Strategies: []systems.Strategy{relay.Strategy},
			Dial: func() (session.Transport, error) { return nil, nil }}
		change(&c)
		if _, err := client.NewCore(c); !errors.Is(err, client.ErrConfig) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

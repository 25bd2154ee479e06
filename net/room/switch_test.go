package room_test

import (
	"errors"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

func offering(list ...systems.Strategy) func(*room.Config) {
	return func(c *room.Config) { c.Strategies = list }
}

// hasAll gives a client the strategies of the tests here.
func hasAll(c *client.Config) {
	c.Strategies = []systems.Strategy{relay.Strategy, lockstep.Strategy, verify.Strategy}
}

// The error of a refusal contains the reason. It changes nothing.
func TestSwitchReturnsTheReasonOfARefusal(t *testing.T) {
	slow := lockstep.New(lockstep.Config{Closing: lockstep.Hybrid, Wait: systems.Second})
	for _, c := range []struct {
		name, to, want string
		room           func(*room.Config)
		before         func(*rig)
	}{
		{"a strategy that is not offered", "reckon", `"reckon" is not offered here: choose one of relay, lockstep`, offering(lockstep.Strategy), nil},
		{"no name", "", "choose one of relay, lockstep", offering(lockstep.Strategy), nil},
		{"the present one", "relay", "the match uses relay already", offering(lockstep.Strategy), nil},
		{"a game without the role", "reckon", `no component of the game "bare" has a Motion role`, func(c *room.Config) {
			c.Game = &ecs.Game{Name: "bare", TickRate: 60, MaxPlayers: 2, Input: ecs.NewInput[uint8]()}
			c.Strategies = []systems.Strategy{reckon.Strategy}
		}, nil},
		{"settings that do not suit the game", "lockstep", "Wait 1000 ms", offering(slow), nil},
		{"a change under way", "lockstep", "a change to verify is under way", offering(lockstep.Strategy, verify.Strategy), func(g *rig) { _ = g.room.Switch("verify") }},
		{"a match that has ended", "lockstep", "the match has ended", offering(lockstep.Strategy), func(g *rig) { g.room.Close("") }},
		{"a world that is not computed", "relay", "does not compute the match", func(c *room.Config) {
			c.Strategy = lockstep.New(lockstep.Config{OnDemand: true})
			c.Strategies = []systems.Strategy{relay.Strategy}
		}, nil},
	} {
		g := newRig(t, c.room)
		if err := g.room.Switch(c.to); err == nil {
			t.Errorf("%s: the strategy changes before the first tick", c.name)
		}
		g.steps(10)
		if c.before != nil {
			c.before(g)
		}
		orders := g.count(image.OrderSwitch)
		if err := g.room.Switch(c.to); !errors.Is(err, room.ErrSwitch) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if g.steps(30); c.before == nil && (g.count(image.OrderSwitch) != orders || g.room.Tick() != 40) {
			t.Errorf("%s: %d orders, tick %d", c.name, g.count(image.OrderSwitch), g.room.Tick())
		}
	}
}

// The strategies of a Config are checked before a room is made.
func TestNewChecksTheStrategies(t *testing.T) {
	nameless := relay.Strategy
	nameless.NewServer = nil
	long := lockstep.Strategy
	long.Name = strings.Repeat("x", 33)
	world := newRig(t, nil).room.World()
	for want, change := range map[string]func(*room.Config){
		"two of the name":    offering(lockstep.Strategy, lockstep.Strategy),
		"no NewServer":       offering(relay.Strategy, nameless),
		"want at most 32":    offering(long),
		`continued with "x"`: func(c *room.Config) { c.Resume = &room.Resume{World: world, Strategy: "x"} },
	} {
		c := room.Config{Game: world.Game(), Strategy: relay.Strategy}
		if want == "no NewServer" {
			c.Strategy = lockstep.Strategy
		}
		change(&c)
		if _, err := room.New(c, 0); !errors.Is(err, room.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// An order of a player is an order of the game, with the payload of a change too.
func TestAClientCannotChangeTheStrategy(t *testing.T) {
	for _, s := range []systems.Strategy{relay.Strategy, lockstep.Strategy, verify.Strategy} {
		g := newRig(t, func(c *room.Config) {
			c.Strategy, c.Strategies = s, []systems.Strategy{relay.Strategy, lockstep.Strategy, verify.Strategy}
		})
		a := g.enter(player(1), hasAll)
		g.live()
		if _, err := a.core.Order(ecs.Entity{}, image.AppendSwitch(nil, "lockstep", nil)); err != nil {
			t.Fatal(err)
		}
		g.steps(60)
		if g.count(image.OrderGame) != 1 || g.count(image.OrderSwitch) != 0 || g.room.Strategy().Name != s.Name {
			t.Errorf("%s: %d orders of the game, %d changes, the room plays %s", s.Name, g.count(image.OrderGame), g.count(image.OrderSwitch), g.room.Strategy().Name)
		}
	}
}

// A client that lacks the new strategy ends with an error that names it. The others continue.
func TestAClientWithoutTheNewStrategyEnds(t *testing.T) {
	g := newRig(t, offering(lockstep.Strategy))
	old := g.enter(player(1), nil)
	a := g.enter(player(2), hasAll)
	g.live()
	if err := g.room.Switch("lockstep"); err != nil {
		t.Fatal(err)
	}
	g.steps(30)
	if err := old.core.Err(); !errors.Is(err, client.ErrStrategy) || !strings.Contains(err.Error(), `"lockstep"`) {
		t.Errorf("a client with relay alone: %v", err)
	}
	g.live()
	if a.core.Playing() != "lockstep" || a.core.Stats().Switches != 1 {
		t.Errorf("the other plays %s after %d changes", a.core.Playing(), a.core.Stats().Switches)
	}
}

// The strategy changes only when the tick of the order is committed. Until then no peer is sent an image.
func TestAChangeWaitsForTheJournal(t *testing.T) {
	var g *rig
	fails := errors.New("the disk is full")
	g = newRig(t, func(c *room.Config) {
		c.Strategies = []systems.Strategy{lockstep.Strategy}
		c.Sinks = append(c.Sinks, room.Sink{Commit: func() error {
			if g.count(image.OrderSwitch) > 0 {
				return fails
			}
			return nil
		}})
	})
	a := g.enter(player(1), hasAll)
	g.live()
	heads := g.sent[byteHead]
	if err := g.room.Switch("lockstep"); err != nil {
		t.Fatal(err)
	}
	g.steps(60)
	if g.room.Strategy().Name != "relay" || g.sent[byteHead] != heads {
		t.Errorf("the room plays %s and has sent %d images before the tick was committed", g.room.Strategy().Name, g.sent[byteHead]-heads)
	}
	fails = nil
	g.steps(30)
	if g.room.Strategy().Name != "lockstep" || a.core.State() != client.Live || a.core.Playing() != "lockstep" {
		t.Errorf("the room plays %s, the client is %v with %s", g.room.Strategy().Name, a.core.State(), a.core.Playing())
	}
}

// A late Frame computes several ticks. Those after the order are the next strategy's.
func TestALateFrameStopsAtTheChange(t *testing.T) {
	at := ecs.Tick(0)
	g := newRig(t, func(c *room.Config) {
		c.Strategies = []systems.Strategy{lockstep.Strategy}
		c.Sinks = append(c.Sinks, room.Sink{Tick: func(f systems.FinalTick) {
			for _, o := range f.Orders {
				if o.Kind == image.OrderSwitch {
					at = f.Tick
				}
			}
		}})
	})
	g.steps(10)
	if err := g.room.Switch("lockstep"); err != nil {
		t.Fatal(err)
	}
	g.frame += 7
	g.now = systems.TickTime(0, g.frame, 60)
	g.room.Frame(g.now)
	if at == 0 || g.room.Tick() != at || g.room.Strategy().Name != "lockstep" {
		t.Errorf("the order is in tick %d, the room at tick %d with %s", at, g.room.Tick(), g.room.Strategy().Name)
	}
	if g.steps(5); g.room.Tick() != g.frame {
		t.Errorf("tick %d is the last, %d is due", g.room.Tick(), g.frame)
	}
}

// After a restart, a client with a state of before the last change is sent an image: the strategy cannot serve the ticks of
// another.
func TestTicksOfAnotherStrategyAreNotServed(t *testing.T) {
	withJournal(t, func(t *testing.T, newRestartable func(func(*room.Config)) *restartableRig) {
		n := newRestartable(func(c *room.Config) {
			c.Strategies = []systems.Strategy{verify.Strategy, relay.Strategy, lockstep.Strategy}
		})
		first := n.room.Strategy().Name
		n.steps(60)
		for _, to := range []string{"verify", first} {
			if err := n.room.Switch(to); err != nil {
				t.Fatal(err)
			}
			n.steps(60)
		}
		n.crash(0)
		resume, err := n.journal.Resume()
		if err != nil {
			t.Fatal(err)
		}
		if resume.Strategy != first || resume.Since < 120 || n.room.Strategy().Name != first {
			t.Fatalf("the journal ends with %s since tick %d", resume.Strategy, resume.Since)
		}
		for have, image := range map[ecs.Tick]bool{50: true, 100: true, resume.Since - 1: true, resume.Since: false, resume.Since + 20: false} {
			chain, _ := resume.ChainAt(have)
			c := n.enterFake(room.Identity{Role: systems.RoleSpectator}, session.Hello{Match: 1, Have: have, Chain: uint64(chain)}, nil)
			n.steps(5)
			if c.welcome == nil || c.welcome.Image != image || c.welcome.Strategy != first {
				t.Errorf("a client with tick %d was welcomed with %+v, want an image: %v", have, c.welcome, image)
			}
		}
	})
}

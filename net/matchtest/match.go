package matchtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/matchsim"
	"tendon/net/room"
	"tendon/net/simnet"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// SyncTest fails t unless the game computes the same in every run and on every target. It plays the game with wrong
// inputs first, at random depth, then with the right ones, and compares every tick (see [rollback.SyncTest]). It also
// checks that the game's types have the same layout for every word size (see [image.Schema.Portable]). A failure names component,
// entity, field and, where a system writes what it does not declare, the system.
//
// A game in which nothing is spawned or despawned calls rollback.SyncTest itself, with AllowStatic.
func SyncTest(t testing.TB, game *ecs.Game) {
	t.Helper()
	if err := syncTest(game); err != nil {
		t.Error(err)
	}
}

func syncTest(game *ecs.Game) error {
	if game == nil {
		return errors.New("matchtest: SyncTest of a nil game")
	}
	if err := game.Schema().Portable(); err != nil {
		return err
	}
	for _, depth := range syncDepths {
		_, err := rollback.SyncTest(rollback.SyncTestConfig{Game: game, Seed: 1, MaxDepth: depth, Ticks: 300, SkipDeclarations: depth != 7})
		if report := (*rollback.DesyncReport)(nil); errors.As(err, &report) {
			return errors.New(report.String()) // Error returns only the first line
		}
		if err != nil {
			return fmt.Errorf("rewinds of up to %d ticks: %w", depth, err)
		}
	}
	return nil
}

// syncDepths are the depths of RB-10: those of GGPO, GGRS, NetherRealm's engine, and a shooter's.
var syncDepths = []int{7, 1, 2, 30}

// Match fails t unless bots stay in step for 20 s of virtual time, four or as many as the game takes. Their links have
// the named profile of net/simnet, "P0" to "P12". They play one match with each strategy, by default with relay. Games with private data are played with
// each of verify, predict and reckon for which they have the roles. Every tick that a
// client confirms must equal the server's.
//
// A match that proves nothing fails too: no client was rewound, no tick was compared, or the state never changed. The
// rewind is not required of a single player, on P0, or where clients do not predict the whole state.
//
// The bots are Game.Bot's. A game without a Bot is played with random inputs. In a game with orders, each player also gives a
// random order about every two seconds, valid or invalid: see rollback.RandomOrder. Match logs how many were executed and how many were refused.
// It fails if an order was neither. A failure prints the command that repeats it. Writes to entities that a client does not predict
// are logged: see ecs.World.MayWrite.
func Match(t testing.TB, game *ecs.Game, profile string, strategies ...systems.Strategy) {
	t.Helper()
	if len(strategies) == 0 {
		strategies = []systems.Strategy{relay.Strategy}
		if game.Schema().HasPrivate() {
			strategies = hiding(game)
		}
	}
	for _, s := range strategies {
		played, err := match(game, profile, s)
		for _, d := range played.discarded {
			t.Logf("%s: system %q writes component %q of entities that its client does not predict; these writes were discarded", s.Name, d.System, d.Component)
		}
		if played.orders != nil {
			t.Logf("%s: %v", s.Name, played.orders)
		}
		if err != nil {
			t.Errorf("%s on %s: %v\nto repeat it: go test -count=1 -run '^%s$'", s.Name, profile, err, strings.ReplaceAll(t.Name(), "/", "$/^"))
		}
	}
}

// hiding returns the strategies that hide private data and have all that they need of a game.
func hiding(game *ecs.Game) []systems.Strategy {
	return slices.DeleteFunc([]systems.Strategy{verify.Strategy, predict.Strategy, reckon.Strategy}, func(s systems.Strategy) bool { return s.Check(game) != nil })
}

// ordersOfMatch are the orders that clients gave, and what became of them.
type ordersOfMatch struct {
	given    int                  // to clients, random ones
	unsent   int                  // refused by clients, which send only what ecs.Order.Pack returns
	refused  int                  // refusals that clients received
	executed rollback.OrderCounts // on the server
}

// String returns a sentence.
func (o *ordersOfMatch) String() string {
	executed, _ := o.executed.Sum()
	return fmt.Sprintf("%d orders: %d executed, %d refused by the server, %d refused by the client (%v)", o.given, executed, o.refused, o.unsent, o.executed)
}

// give has a client give random orders until the last seconds of the match.
func (o *ordersOfMatch) give(m *matchsim.Match, c *matchsim.Client) {
	r := image.NewRand(uint64(c.Number) + 7)
	m.Net.Every(c.Node, 0, 1, func(int64, simnet.Time) {
		if !r.Chance(1, 2) || !c.Live() || c.Core.Seat() < 0 || !c.Core.World().Players().Has(ecs.Player(c.Core.Seat())) || m.Net.Now() > matchTime-orderTime {
			return
		}
		_, now, _, _ := c.Core.Snapshots(systems.Time(m.Net.LocalNow(c.Node)))
		random := rollback.RandomOrder(c.Core.World().Image().Schema(), 0, now, r)
		o.given++
		if _, err := c.Core.Order(random.Entity, random.Payload); err != nil {
			o.unsent++
		}
	})
}

const orderTime = 3 * time.Second // in which every order is executed or refused

const (
	matchBots = 4
	matchTime = 20 * time.Second
)

// matchResult is what Match logs.
type matchResult struct {
	discarded []ecs.DiscardedWrites
	orders    *ordersOfMatch // nil for a game without orders
}

func match(game *ecs.Game, profile string, s systems.Strategy) (played matchResult, err error) {
	p, ok := simnet.ByName(profile)
	if !ok {
		return played, fmt.Errorf("matchtest: no profile is named %q: want P0 to P12", profile)
	}
	var orders *ordersOfMatch
	states, parts := map[image.Checksum]bool{}, []image.Checksum(nil)
	m, err := matchsim.New(matchsim.Config{Game: game, Strategy: s, Seed: 1, Room: func(c *room.Config) {
		c.Sinks = []room.Sink{{NeedState: true, Tick: func(f systems.FinalTick) {
			parts = f.State.ComponentChecksums(parts[:0])
			own := image.Checksum(0)
			for _, sum := range parts[2:] { // without the engine's tick and inputs, which always change
				own += sum
			}
			states[own] = true
			if orders != nil {
				orders.executed.Add(f.World.Image().Schema(), f.Orders, f.World.Refusals())
			}
		}}}
	}})
	if err != nil {
		return played, err
	}
	if len(game.Orders) > 0 {
		orders = &ordersOfMatch{}
	}
	for range min(matchBots, game.MaxPlayers) {
		c := m.Join(matchsim.Plan{Profile: p, Change: func(c *client.Config) {
			c.Refused = func(client.Refusal) {
				if orders != nil {
					orders.refused++
				}
			}
		}})
		if orders != nil {
			orders.give(m, c)
		}
	}
	m.RunUntil(matchTime)
	errs, rewinds := []error{m.Err()}, uint64(0)
	for i, c := range m.Clients {
		if d := c.Core.Desyncs(); len(d) > 0 {
			errs = append(errs, fmt.Errorf("client %d, first difference found: %v", i, d[0]))
		}
		switch {
		case c.FirstLive == 0:
			errs = append(errs, fmt.Errorf("client %d was never live: it is %v", i, c.Core.State()))
		case c.Checked == 0:
			errs = append(errs, fmt.Errorf("matchtest: the match proves nothing: no tick of client %d was compared", i))
		}
		if len(played.discarded) == 0 && c.Core.World() != nil {
			played.discarded = c.Core.World().DiscardedWrites()
		}
		rewinds += c.Core.Stats().Strategy.Rollbacks
	}
	if rewinds == 0 && s.Predicts && s.Needs.Exact && len(m.Clients) > 1 && p.Name != "P0" {
		errs = append(errs, fmt.Errorf("matchtest: the match on %s proves nothing: no client was rewound", p.Name))
	}
	// Joins change the state too; the inputs must change it beyond them.
	if len(states) < matchBots*4 {
		errs = append(errs, fmt.Errorf("matchtest: the match on %s proves nothing: the game's own state had %d values in %d ticks", p.Name, len(states), m.Room.Tick()))
	}
	if orders != nil {
		if executed, _ := orders.executed.Sum(); game.BotOrders == nil && orders.given != orders.unsent+orders.refused+executed {
			errs = append(errs, fmt.Errorf("matchtest: an order was neither executed nor refused: %v", orders))
		}
	}
	played.orders = orders
	return played, errors.Join(errs...)
}

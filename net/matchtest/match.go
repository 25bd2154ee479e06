package matchtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/room"
	"tendon/net/simnet"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/relay"
)

// SyncTest fails t unless the game computes the same on every run and every target: it plays the game with wrong inputs
// first, at random depth, then with the right ones, and compares every tick (see [rollback.SyncTest]); and it checks
// that the game's types are laid out alike for every word size (see [ecs.Portable]). A failure names component, entity,
// field and, where a system writes what it does not declare, the system.
//
// A game in which nothing ever spawns or despawns calls rollback.SyncTest itself, with AllowStatic.
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
	if err := ecs.Portable(game); err != nil {
		return err
	}
	_, err := rollback.SyncTest(rollback.SyncTestConfig{Game: game, Seed: 1})
	if report := (*rollback.DesyncReport)(nil); errors.As(err, &report) {
		return errors.New(report.String()) // its Error is the first line only
	}
	return err
}

// Match fails t unless bots stay in step for 20 s of virtual time: four, or as many as the game takes, on links with
// the named profile of net/simnet, "P0" to "P9". They play by the relay strategy, and every tick that a client
// confirms must be equal to the server's. A match that proves nothing fails too: nobody rewound (asked only of two
// players or more, and not on P0, where there may be nothing to rewind), no tick was compared, or the state never
// changed.
//
// The bots are Game.Bot's; where a game has none, any inputs that a program could have made. Every run is the same.
func Match(t testing.TB, game *ecs.Game, profile string) {
	t.Helper()
	if err := match(game, profile); err != nil {
		t.Error(err)
	}
}

const (
	matchBots = 4
	matchTime = 20 * time.Second
)

func match(game *ecs.Game, profile string) error {
	p, ok := simnet.ByName(profile)
	if !ok {
		return fmt.Errorf("matchtest: no profile is named %q: want P0 to P9", profile)
	}
	states := map[ecs.Checksum]bool{}
	var parts []ecs.Checksum
	h, err := New(Config{Game: game, Strategy: relay.Strategy, Seed: 1, Room: func(c *room.Config) {
		c.Sinks = []room.Sink{{NeedState: true, Tick: func(f systems.FinalTick) {
			parts = f.State.ComponentChecksums(parts[:0])
			own := ecs.Checksum(0)
			for _, sum := range parts[2:] { // without the engine's tick and inputs, which always change
				own += sum
			}
			states[own] = true
		}}}
	}})
	if err != nil {
		return err
	}
	for range min(matchBots, game.MaxPlayers) {
		h.Join(Plan{Profile: p})
	}
	h.RunUntil(matchTime)
	errs := []error{h.Err()}
	for i, c := range h.Clients {
		if d := c.Core.Desyncs(); len(d) > 0 {
			errs = append(errs, fmt.Errorf("client %d, first difference found: %v", i, d[0]))
		}
		errs = append(errs, c.proof(i))
	}
	if rewinds := h.rewinds(); rewinds == 0 && len(h.Clients) > 1 && p.Name != "P0" {
		errs = append(errs, fmt.Errorf("matchtest: the match on %s proves nothing: nobody rewound", p.Name))
	}
	// Those who join change the state; what the players do must change it too.
	if len(states) < matchBots*4 {
		errs = append(errs, fmt.Errorf("matchtest: the match on %s proves nothing: the game's own state had %d values in %d ticks", p.Name, len(states), h.Room.Tick()))
	}
	return errors.Join(errs...)
}

// proof demands that a client was in the match, and was compared.
func (c *Client) proof(number int) error {
	switch {
	case c.FirstLive == 0:
		return fmt.Errorf("client %d was never live: it is %v", number, c.Core.State())
	case c.Checked == 0:
		return fmt.Errorf("matchtest: the match proves nothing: no tick of client %d was compared", number)
	}
	return nil
}

func (h *Harness) rewinds() (n uint64) {
	for _, c := range h.Clients {
		n += c.Core.Stats().Strategy.Rollbacks
	}
	return n
}

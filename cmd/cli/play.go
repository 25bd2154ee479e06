package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"tendon/cmd/cli/window"
	"tendon/net/client"
	"tendon/net/server"
)

// playVerb runs a server, bots and a window in one process.
type playVerb struct {
	syncFlags   `embed:""`
	slowFlags   `embed:""`
	desyncFlags `embed:""`

	Bots   int    `default:"3" help:"Number of bots."`
	Seed   uint64 `help:"Seed of the match. Default: a random one."`
	Record string `type:"path" help:"Record the match into this directory; replay opens it."`
}

// Help explains the verb.
func (playVerb) Help() string {
	return `Examples:
  play
  play --bots 7
  play --record recordings`
}

// Run plays.
func (v *playVerb) Run(a *app) error {
	if err := window.Check(); err != nil {
		return fmt.Errorf("%w; demo plays without one", err)
	}
	switch {
	case v.Bots < 0 || v.Bots > a.game.MaxPlayers-1:
		return fmt.Errorf("--bots %d: with you, the game takes %d players", v.Bots, a.game.MaxPlayers)
	case v.Bots > 0 && a.game.Bot == nil:
		return errors.New("the game has no bot: use --bots 0")
	}
	strategy, err := v.strategy(a.game)
	if err != nil {
		return err
	}
	if v.RelayOnly && v.Record != "" {
		return errors.New("--relay-only and --record do not go together: a recording holds the checksum of every state, so the server has to simulate")
	}
	bundles, err := v.desyncs(a, strategy)
	if err != nil {
		return err
	}
	recorder, err := v.recorder(a)
	if err != nil {
		return err
	}
	defer closeRecorder(recorder)
	h, err := startHost(a, hostConfig{strategy: strategy, flags: v.commandLine(), listen: "127.0.0.1:0", key: randomKey(), maxRooms: 1, seed: v.Seed, recorder: recorder, desyncs: bundles, record: v.Record})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(a.ctx)
	var bots sync.WaitGroup
	ledger := newLedger(a.game, "client", recorder) // of the window
	defer func() {
		cancel()
		bots.Wait()
		_ = h.stop() // all clients have left
		printCosts(a, h.costs.total(), ledger.Report())
	}()
	a.say("%s with %d bots, strategy %s, at %v", a.game.Name, v.Bots, v.Sync, h.addr)
	lost := make(chan error, v.Bots)
	for i := 1; i <= v.Bots; i++ {
		name := fmt.Sprintf("bot %d", i)
		c, err := h.dial(h.addr, server.Pass{Room: "play", Seat: i}, client.Config{Name: name, Bot: true, BotSeed: uint64(i), Observer: newLedger(a.game, "bot", recorder), Desynced: bundles.client})
		if err != nil {
			return err
		}
		bots.Go(func() {
			if err := newPlayer("", c, a.game, nil).run(ctx); err != nil {
				lost <- fmt.Errorf("%s: %w", name, err)
			}
		})
	}
	you, err := h.dial(h.addr, server.Pass{Room: "play", Seat: 0}, client.Config{Name: "you", Observer: ledger, Desynced: bundles.client})
	if err != nil {
		return err
	}
	return inWindow(ctx, a, you, a.game.Name, lost)
}

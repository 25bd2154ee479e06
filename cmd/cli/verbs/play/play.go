// Package play is the verb that runs a server, bots and a window in one process.
package play

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/host"
	"tendon/cmd/cli/internal/player"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/cmd/cli/internal/tokens"
	"tendon/cmd/cli/window"
	"tendon/net/client"
	"tendon/net/server"
)

// Verb runs a server, bots and a window in one process.
type Verb struct {
	syncflags.Flags  `embed:""`
	host.SlowFlags   `embed:""`
	host.DesyncFlags `embed:""`

	Bots   int    `default:"3" help:"Number of bots."`
	Seed   uint64 `help:"Seed of the match. Default: a random one."`
	Record string `type:"path" help:"Record the match into this directory; replay opens it."`
}

// Help explains the verb.
func (Verb) Help() string {
	return `Examples:
  play
  play --bots 7
  play --record recordings`
}

// Run plays.
func (v *Verb) Run(a *app.App) error {
	if err := window.Check(); err != nil {
		return fmt.Errorf("%w; demo plays without one", err)
	}
	switch {
	case v.Bots < 0 || v.Bots > a.Game.MaxPlayers-1:
		return fmt.Errorf("--bots %d: with you, the game takes %d players", v.Bots, a.Game.MaxPlayers)
	case v.Bots > 0 && a.Game.Bot == nil:
		return errors.New("the game has no bot: use --bots 0")
	}
	strategy, err := v.Strategy(a.Game)
	if err != nil {
		return err
	}
	if v.RelayOnly && v.Record != "" {
		return errors.New("--relay-only and --record do not go together: a recording holds the checksum of every state, so the server has to simulate")
	}
	bundles, err := v.OpenDesyncs(a, strategy)
	if err != nil {
		return err
	}
	recorder, err := v.OpenRecorder(a)
	if err != nil {
		return err
	}
	defer host.CloseRecorder(recorder)
	h, err := host.Start(a, host.Config{Strategy: strategy, Flags: v.CommandLine(), Listen: "127.0.0.1:0", Key: tokens.RandomKey(), MaxRooms: 1, Seed: v.Seed, Recorder: recorder, Desyncs: bundles, Record: v.Record})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(a.Ctx)
	var bots sync.WaitGroup
	ledger := host.NewLedger(a.Game, "client", recorder) // of the window
	defer func() {
		cancel()
		bots.Wait()
		_ = h.Stop() // all clients have left
		host.PrintCosts(a, h.Costs.Total(), ledger.Report())
	}()
	a.Logf("%s with %d bots, strategy %s, at %v", a.Game.Name, v.Bots, v.Sync, h.PublicAddr)
	lost := make(chan error, v.Bots)
	for i := 1; i <= v.Bots; i++ {
		name := fmt.Sprintf("bot %d", i)
		c, err := h.Dial(h.PublicAddr, server.Pass{Room: "play", Seat: i}, client.Config{Name: name, Bot: true, BotSeed: uint64(i), Observer: host.NewLedger(a.Game, "bot", recorder), Desynced: bundles.Client})
		if err != nil {
			return err
		}
		bots.Go(func() {
			if err := player.New("", c, a.Game, nil).Run(ctx); err != nil {
				lost <- fmt.Errorf("%s: %w", name, err)
			}
		})
	}
	you, err := h.Dial(h.PublicAddr, server.Pass{Room: "play", Seat: 0}, client.Config{Name: "you", Observer: ledger, Desynced: bundles.Client})
	if err != nil {
		return err
	}
	return player.InWindow(ctx, a, you, a.Game.Name, lost)
}

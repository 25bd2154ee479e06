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
	"tendon/cmd/cli/window"
	"tendon/net/client"
	"tendon/net/server"
)

// Verb runs a server, bots and a window in one process.
type Verb struct {
	host.Flags `embed:""`

	Bots int    `default:"3" help:"Number of bots."`
	Seed uint64 `help:"Seed of the match. Default: a random one."`
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
	strategy, err := v.ServerStrategy(a.Game)
	if err != nil {
		return err
	}
	h, err := host.Start(a, host.Config{Flags: &v.Flags, Strategy: strategy, Seed: v.Seed,
		Config: server.Config{Address: "127.0.0.1:0", MaxRooms: 1}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(a.Ctx)
	var bots sync.WaitGroup
	ledger := host.NewLedger(a.Game, "client", h.Recorder) // of the window
	defer func() {
		cancel()
		bots.Wait()
		_ = h.Stop() // all clients have left
		_, past := h.Costs()
		host.PrintCosts(a, past, ledger.Report())
	}()
	a.Logf("%s with %d bots, strategy %s, at %v", a.Game.Name, v.Bots, v.Sync, h.PublicAddr)
	lost := make(chan error, v.Bots)
	for i := 1; i <= v.Bots; i++ {
		name := fmt.Sprintf("bot %d", i)
		c, err := h.Dial(h.PublicAddr, "play", i, client.Config{Name: name, Bot: true, BotSeed: uint64(i),
			Observer: host.NewLedger(a.Game, "bot", h.Recorder)})
		if err != nil {
			return err
		}
		bots.Go(func() {
			if err := player.New("", c, a.Game).Run(ctx); err != nil {
				lost <- fmt.Errorf("%s: %w", name, err)
			}
		})
	}
	you, err := h.Dial(h.PublicAddr, "play", 0, client.Config{Name: "you", Observer: ledger})
	if err != nil {
		return err
	}
	return player.InWindow(ctx, a, you, a.Game.Name, lost)
}

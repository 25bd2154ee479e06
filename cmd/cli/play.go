package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tendon/cmd/cli/window"
	"tendon/net/client"
	"tendon/net/cost"
	"tendon/net/server"
)

// playVerb is a server, bots and a window in one process.
type playVerb struct {
	syncFlags   `embed:""`
	slowFlags   `embed:""`
	desyncFlags `embed:""`

	Bots int    `default:"3" help:"How many bots play."`
	Seed uint64 `help:"Seed of the match; 0: chosen."`

	Record string `type:"path" help:"Record the match into this directory; replay opens it."`

	bundles *desyncs
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
	if v.Bots < 0 || v.Bots > a.game.MaxPlayers-1 {
		return fmt.Errorf("--bots %d: with you, the game takes %d players", v.Bots, a.game.MaxPlayers)
	}
	if v.Bots > 0 && a.game.Bot == nil {
		return errors.New("the game has no bot: use --bots 0")
	}
	strategy, err := v.strategy(a.game)
	if err != nil {
		return err
	}
	if v.RelayOnly && v.Record != "" {
		return errors.New("--relay-only and --record do not go together: a recording holds the checksum of every state, so the server has to simulate")
	}
	if v.bundles, err = v.desyncs(a, strategy); err != nil {
		return err
	}
	recorder, err := v.recorder(a)
	if err != nil {
		return err
	}
	defer closeRecorder(recorder)
	h, err := startHost(a, hostConfig{strategy: strategy, listen: "127.0.0.1:0", key: randomKey(), maxRooms: 1, seed: v.Seed, recorder: recorder, desyncs: v.bundles, record: v.Record})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(a.ctx)
	var bots sync.WaitGroup
	ledger := newLedger(a.game, "client", recorder) // yours
	defer func() {
		cancel()
		bots.Wait()
		_ = h.stop() // the match is over, nobody is left to hear of it
		a.tellCosts(h.costs.total(), ledger.Report())
	}()
	a.say("%s with %d bots, strategy %s, at %v", a.game.Name, v.Bots, v.Sync, h.addr)
	lost := make(chan error, v.Bots)
	for i := range v.Bots {
		c, err := v.seat(a, h, i+1, newLedger(a.game, "bot", recorder))
		if err != nil {
			return err
		}
		bots.Go(func() {
			if err := newPlayer("", c, a.game, nil).run(ctx); err != nil {
				lost <- fmt.Errorf("bot %d: %w", i+1, err)
			}
		})
	}
	you, err := v.seat(a, h, 0, ledger)
	if err != nil {
		return err
	}
	return inWindow(ctx, a, you, a.game.Name, lost)
}

// seat returns a client for one seat of the match.
func (v *playVerb) seat(a *app, h *host, seat int, ledger *cost.Ledger) (*client.Client, error) {
	bot := seat > 0
	token, err := h.ticket(h.addr, server.Pass{Room: "play", Seat: seat}, time.Hour)
	if err != nil {
		return nil, err
	}
	return client.Dial(client.DialConfig{Token: token, Config: client.Config{Game: a.game, Strategies: strategies,
		Name: map[bool]string{true: fmt.Sprintf("bot %d", seat), false: "you"}[bot], Bot: bot, BotSeed: uint64(seat), Observer: ledger, Desynced: v.bundles.client}})
}

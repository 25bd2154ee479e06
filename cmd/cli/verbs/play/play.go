// Package play is the verb that runs a server, bots and a window in one process.
package play

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/host"
	"tendon/cmd/cli/internal/netflags"
	"tendon/cmd/cli/internal/player"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/cmd/cli/window"
	"tendon/net/client"
	"tendon/net/cost"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/net/simnet"
	"tendon/systems"
)

// Verb runs a server, bots and a window in one process.
type Verb struct {
	host.Flags `embed:""`

	Bots int    `default:"3" help:"Number of bots."`
	Name string `default:"you" help:"Name that you have in the match, at most 32 bytes."`
	Seed uint64 `help:"Seed of the match and of the network. Default: a random one."`

	netflags.NetFlags `embed:"" set:"rtt=0s" set:"jitter=0s" set:"loss=0"`
}

// Help explains the verb.
func (Verb) Help() string {
	return `You and the bots reach the server through a simulated network, by default one without delay. F2 continues the match with
the next sync strategy. F3 pauses the match, or continues it.

Examples:
  play
  play --bots 7
  play --rtt 150ms --jitter 20ms --loss 2
  play --net P5 --sync predict              prediction on bad Wi-Fi
  play --record recordings`
}

// Run plays.
func (v *Verb) Run(a *app.App) (err error) {
	if err := window.Check(); err != nil {
		return fmt.Errorf("%w; demo plays without one", err)
	}
	m, err := v.start(a)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.finish(a)) }()
	return player.InWindow(m.ctx, a, m.you, a.Game.Name, m.lost, m.notices, func() { m.next(a) })
}

// match is a running match: the server, the network, the bots and the player's client. finish closes all but the client.
type match struct {
	ctx     context.Context // of the bots
	stop    func()
	network *netflags.Network
	host    *host.Host
	bots    sync.WaitGroup
	lost    chan error     // error of a bot
	you     *client.Client // of the window
	notices <-chan string  // to you
	ledger  *cost.Ledger   // of you
}

// start opens the match and runs the bots.
func (v *Verb) start(a *app.App) (m *match, err error) {
	switch {
	case v.Bots < 0 || v.Bots > a.Game.MaxPlayers-1:
		return nil, fmt.Errorf("--bots %d: the game takes %d players, you included: give at most %d", v.Bots, a.Game.MaxPlayers, a.Game.MaxPlayers-1)
	case v.Bots > 0 && a.Game.Bot == nil:
		return nil, errors.New("the game has no bot: use --bots 0")
	}
	strategy, err := v.ServerStrategy(a.Game)
	profile, bad := v.NetFlags.Profile(simnet.Path{})
	if err = cmp.Or(err, bad); err != nil {
		return nil, err
	}
	v.Seed = app.ChooseSeed(v.Seed)
	m = &match{lost: make(chan error, v.Bots)}
	m.ctx, m.stop = context.WithCancel(a.Ctx)
	defer func() {
		if err != nil {
			_ = m.finish(a)
			m = nil
		}
	}()
	if m.network, err = netflags.Open(profile, v.Bots+1, v.Seed); err != nil {
		return m, err
	}
	m.host, err = host.Start(a, host.Config{Flags: &v.Flags, Strategy: strategy, Seed: v.Seed, Crash: m.stop,
		Pause:  room.PauseRule{By: room.PausePlayers, Longest: time.Hour, PerSeat: math.MaxInt},
		Config: server.Config{Socket: m.network.Socket, Public: m.network.Public, MaxRooms: 1}})
	if err != nil {
		m.network.Socket.Close() // the second time, if the server was started
		return m, err
	}
	a.Logf("%s with %d bots, strategy %s, %s, at %v, seed %d", a.Game.Name, v.Bots, v.Sync, netflags.Text(profile), m.host.PublicAddr, v.Seed)
	for i := 1; i <= v.Bots; i++ {
		if err = m.playBot(a, i); err != nil {
			return m, err
		}
	}
	m.ledger = host.NewLedger(a.Game, "client", m.host.Recorder)
	var notice func(int, string)
	notice, m.notices = player.Notices(a)
	m.you, err = m.host.Dial(m.network.Public[0], roomName, 0, client.Config{Name: v.Name, Observer: m.ledger, Notice: notice, Refused: player.Refused(notice)})
	return m, err
}

// next continues the match with the next strategy for which the game has all roles.
func (m *match) next(a *app.App) {
	now := slices.IndexFunc(syncflags.All, func(s systems.Strategy) bool { return s.Name == m.you.Playing() })
	for i := range syncflags.All {
		s := syncflags.All[(now+1+i)%len(syncflags.All)]
		if s.Check(a.Game) != nil {
			continue
		}
		if err := m.host.Switch(m.ctx, roomName, s.Name); err != nil {
			a.Logf("%v", err)
		} else {
			a.Logf("the match continues with the sync strategy %s", s.Name)
		}
		return
	}
}

const roomName = "play"

// playBot runs a bot in a seat.
func (m *match) playBot(a *app.App, seat int) error {
	name := fmt.Sprintf("bot %d", seat)
	c, err := m.host.Dial(m.network.Public[seat], roomName, seat, client.Config{Name: name, Bot: true, BotSeed: uint64(seat),
		Observer: host.NewLedger(a.Game, "bot", m.host.Recorder)})
	if err != nil {
		return err
	}
	m.bots.Go(func() {
		if err := player.New("", c, a.Game).Run(m.ctx); err != nil {
			m.lost <- fmt.Errorf("%s: %w", name, err)
		}
	})
	return nil
}

// finish ends the bots, the server and the network, and prints the costs. The player's client must be closed.
func (m *match) finish(a *app.App) (err error) {
	m.stop()
	m.bots.Wait()
	if m.host != nil {
		err = m.host.Stop() // all clients have left
		_, past := m.host.Costs()
		if host.PrintCosts(a, past); m.ledger != nil {
			host.PrintCosts(a, m.ledger.Report())
		}
	}
	if m.network != nil {
		m.network.Close()
	}
	return err
}

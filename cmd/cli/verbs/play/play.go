// Package play is the verb that runs a server, bots and a window in one process, and further windows in others.
package play

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/host"
	"tendon/cmd/cli/internal/netflags"
	"tendon/cmd/cli/internal/player"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/cmd/cli/internal/tokens"
	"tendon/cmd/cli/window"
	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/cost"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/net/session"
	"tendon/net/simnet"
	"tendon/systems"
)

// Verb runs a server, bots and a window in one process.
type Verb struct {
	host.Flags `embed:""`

	Bots    *int   `help:"Number of bots. Default: 3, or fewer if the game has no room for them."`
	Windows int    `default:"1" help:"Number of windows, each with a player behind a simulated network of their own. The first is yours; when it closes, the others close too."`
	Name    string `default:"you" help:"Name that you have in the match, at most 32 bytes."`
	Seed    uint64 `help:"Seed of the match and of the network. Default: a random one."`

	netflags.NetFlags `embed:"" set:"rtt=0s" set:"jitter=0s" set:"loss=0"`
}

// Help explains the verb.
func (Verb) Help() string {
	return `You and the bots reach the server through a simulated network, by default one without delay. F1 shows the keys, F2 changes
the network to the next of P0 to P12, F3 shows the net graph, and Tab the players. The menu (Esc) pauses the match and changes
its sync strategy.

Examples:
  play
  play --bots 7
  play --windows 2 --net P3                 two players on a typical network
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
	return player.InWindow(m.ctx, a, m.you, window.Config{Title: a.Game.Name, Next: func() { m.next(a) }, Network: m.network.Next, Chat: m.chat}, m.lost, m.notices)
}

// count returns the number of bots, or an error if the game does not take all players.
func (v *Verb) count(g *ecs.Game) (bots int, err error) {
	room := g.MaxPlayers - v.Windows
	if v.Windows < 1 || room < 0 {
		return 0, fmt.Errorf("--windows %d: give 1 to %d, which is the number of players of the game", v.Windows, g.MaxPlayers)
	}
	if v.Bots == nil {
		if g.Bot != nil {
			bots = min(3, room)
		}
		return bots, nil
	}
	switch bots = *v.Bots; {
	case bots < 0 || bots > room:
		return 0, fmt.Errorf("--bots %d: the game takes %d players, you included: give at most %d", bots, g.MaxPlayers, room)
	case bots > 0 && g.Bot == nil:
		return 0, errors.New("the game has no bot: use --bots 0")
	}
	return bots, nil
}

// match is a running match: the server, the network, the bots and the player's client. finish closes all but the client.
type match struct {
	ctx     context.Context // of clients
	stop    func()
	network *netflags.Network
	host    *host.Host
	clients sync.WaitGroup // bots and further windows
	lost    chan error     // error of a bot
	you     *client.Client // of the window
	notices <-chan string  // to you
	chat    <-chan string  // lines of the chat, for you
	ledger  *cost.Ledger   // of you
}

// start opens the match and runs the bots.
func (v *Verb) start(a *app.App) (m *match, err error) {
	bots, err := v.count(a.Game)
	if err != nil {
		return nil, err
	}
	strategy, err := v.ServerStrategy(a.Game)
	profile, bad := v.NetFlags.Profile(simnet.Path{})
	if err = cmp.Or(err, bad); err != nil {
		return nil, err
	}
	v.Seed = app.ChooseSeed(v.Seed)
	m = &match{lost: make(chan error, bots)}
	m.ctx, m.stop = context.WithCancel(a.Ctx)
	defer func() {
		if err != nil {
			_ = m.finish(a)
			m = nil
		}
	}()
	if m.network, err = netflags.Open(profile, v.Windows+bots, v.Seed); err != nil {
		return m, err
	}
	m.host, err = host.Start(a, host.Config{Flags: &v.Flags, Strategy: strategy, Seed: v.Seed, Crash: m.stop,
		Pause:  room.PauseRule{By: room.PausePlayers, Longest: time.Hour, PerSeat: math.MaxInt},
		Config: server.Config{Socket: m.network.Socket, Public: m.network.Public, MaxRooms: 1}})
	if err != nil {
		m.network.Socket.Close() // the second time, if the server was started
		return m, err
	}
	a.Logf("%s with %d bots, strategy %s, %s, at %v, seed %d", a.Game.Name, bots, v.Sync, netflags.Text(profile), m.host.PublicAddr, v.Seed)
	for i := 1; i < v.Windows+bots; i++ {
		if i < v.Windows {
			err = m.openWindow(a, i)
		} else {
			err = m.playBot(a, i)
		}
		if err != nil {
			return m, err
		}
	}
	m.ledger = host.NewLedger(a.Game, "client", m.host.Recorder)
	var notice func(int, string)
	notice, m.notices = player.Notices(a)
	var receive func(session.ChatLine)
	receive, m.chat = player.Chat(a)
	m.you, err = m.host.Dial(m.network.Public[0], roomName, 0, client.Config{Name: v.Name, Observer: m.ledger, Notice: notice, Refused: player.Refused(notice), Chat: receive})
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

// openWindow starts this program again, with the window of the player in a seat.
func (m *match) openWindow(a *app.App, seat int) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	to := m.network.Public[seat]
	token, err := m.host.Token(to, server.Pass{Room: roomName, Seat: seat})
	if err != nil {
		return err
	}
	args := []string{"join", to.String(), "--name", fmt.Sprintf("player %d", seat+1)}
	if a.Common.TickRate > 0 {
		args = append(args, "--tick-rate", strconv.Itoa(a.Common.TickRate))
	}
	if a.Common.JSON {
		args = append(args, "--json")
	}
	window := exec.CommandContext(m.ctx, program, args...)
	window.Env = append(os.Environ(), "TENDON_TOKEN="+tokens.Text(token), app.ProgramVariable+"="+a.Program)
	window.Stdout, window.Stderr = os.Stdout, os.Stderr
	window.Cancel = func() error { return window.Process.Signal(os.Interrupt) }
	window.WaitDelay = 5 * time.Second
	if err := window.Start(); err != nil {
		return err
	}
	m.clients.Go(func() {
		if err := window.Wait(); err != nil && m.ctx.Err() == nil {
			a.Logf("window %d: %v", seat+1, err)
		}
	})
	return nil
}

// playBot runs a bot in a seat.
func (m *match) playBot(a *app.App, seat int) error {
	name := fmt.Sprintf("bot %d", seat)
	c, err := m.host.Dial(m.network.Public[seat], roomName, seat, client.Config{Name: name, Bot: true, BotSeed: uint64(seat),
		Observer: host.NewLedger(a.Game, "bot", m.host.Recorder)})
	if err != nil {
		return err
	}
	m.clients.Go(func() {
		if err := player.New("", c, a.Game).Run(m.ctx); err != nil {
			m.lost <- fmt.Errorf("%s: %w", name, err)
		}
	})
	return nil
}

// finish ends the other clients, the server and the network, and prints the costs. The player's client must be closed.
func (m *match) finish(a *app.App) (err error) {
	m.stop()
	m.clients.Wait()
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

// Package demo is the verb that plays a match of bots on a simulated network and checks it for desyncs.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/host"
	"tendon/cmd/cli/internal/player"
	"tendon/cmd/cli/labpage"
	"tendon/cmd/cli/verbs/lab"
	"tendon/net/client"
	"tendon/net/cost"
	"tendon/net/server"
	"tendon/net/simnet"
	"tendon/systems"
)

// Verb plays a match of bots on the loopback interface with a simulated network, and compares every confirmed state.
type Verb struct {
	host.Flags `embed:""`

	Bots   int            `default:"3" help:"Number of bots."`
	For    *time.Duration `help:"Duration. Default: until Ctrl-C."`
	RTT    time.Duration  `name:"rtt" default:"100ms" help:"Round trip time between each bot and the server."`
	Jitter time.Duration  `default:"20ms" help:"Largest deviation of a packet's delay, either way."`
	Loss   float64        `default:"5" help:"Packets lost each way, in percent."`
	Seed   uint64         `help:"Seed of the match and of the network. Default: a random one, which is printed."`

	lab.PageFlags `embed:""`
}

// Help explains the verb.
func (Verb) Help() string {
	return `A server and its bots exchange packets over real UDP sockets of the loopback interface, with a bad network in between.
The table shows for each client its connection, its rollbacks, and whether its confirmed states equal the server's. The
run ends at the first desync that it can explain. The exit code is 1 if a state differed, or if a run of the given length
proved nothing: no state compared, nothing changed, or, with relay, no rollback.

The last line shows the effect of the network. With relay and predict it is the number of rollbacks. With lockstep it is the
number of stalls, and the delay of the display behind the server at the end of the run. With verify and reckon it is that
delay.

Examples:
  demo --for 20s
  demo --sync lockstep --for 20s
  demo --rtt 250ms --jitter 40ms --loss 10
  demo --for 20s --record recordings
  demo --for 1m --json
  demo --page                         the lab in a browser, starting with this network`
}

// check returns an error if a flag is out of range.
func (v *Verb) check(a *app.App) error {
	switch {
	case v.RelayOnly:
		return errors.New("--relay-only is for serve: demo compares every state with the server's, so the server has to simulate")
	case v.Interest > 0 || v.Pairs:
		return errors.New("--interest and --pairs are for serve: demo compares whole states with the server's, and with --interest clients receive only a part")
	}
	return cmp.Or(a.NeedBot(), app.InRange("--bots", v.Bots, 1, a.Game.MaxPlayers), app.InRange("--loss", v.Loss, 0, 100),
		app.InRange("--rtt", v.RTT, 0, 2*time.Minute), app.InRange("--jitter", v.Jitter, 0, time.Minute), v.PageFlags.Check())
}

// Run plays the match.
func (v *Verb) Run(a *app.App) error {
	if err := v.check(a); err != nil {
		return err
	}
	strategy, err := v.ServerStrategy(a.Game)
	switch {
	case err != nil:
		return err
	case v.Page:
		return v.page(a)
	}
	v.Seed = app.ChooseSeed(v.Seed)
	ctx, cancel, err := a.Until(v.For)
	if err != nil {
		return err
	}
	defer cancel()
	m, err := v.start(a, strategy)
	if err != nil {
		return err
	}
	title := fmt.Sprintf("%s · %s · %d bots · %v RTT, ±%v jitter, %g %% loss · seed %d", a.Game.Name, v.Sync, v.Bots, v.RTT, v.Jitter, v.Loss, v.Seed)
	a.Logf("%s", title)
	a.Emit("start", app.Fields{"game": a.Game.Name, "sync": v.Sync, "bots": v.Bots, "rtt_ms": v.RTT.Seconds() * 1e3,
		"jitter_ms": v.Jitter.Seconds() * 1e3, "loss_percent": v.Loss, "seed": v.Seed})
	m.play(ctx, cancel)
	if a.Common.JSON {
		app.Every(ctx, time.Second, func() { a.Emit("stats", app.Fields{"clients": m.lines()}) })
	} else {
		app.Watch(ctx, a, cancel, func() string { return renderLines(title, m.lines()) })
	}
	err = m.finish()
	a.Print(renderLines(title, m.lines()))
	host.PrintCosts(a, m.costs()...)
	if err != nil {
		return err
	}
	return v.verdict(a, m)
}

// verdict returns nil if the run showed that every state was equal, else a failed check.
func (v *Verb) verdict(a *app.App, m *match) error {
	var equal, different, rollbacks, stalls uint64
	report, idle := "", ""
	for _, l := range m.lines() {
		equal, different, rollbacks, stalls = equal+l.Agreed, different+l.Differed+l.Resyncs, rollbacks+l.Rollbacks, stalls+l.Stalls
		if l.Agreed == 0 {
			idle = l.Name
		}
		if l.Desync != "" {
			report = "; " + l.Name + ", " + l.Desync
		}
	}
	changes, lag := m.host.Checksums.Changed(), m.lag()
	a.Emit("result", app.Fields{"clients": m.lines(), "checksums_equal": equal, "desyncs": different, "rollbacks": rollbacks,
		"stalls": stalls, "lag_ms": lag, "changes": changes, "seed": v.Seed, "costs": m.costs()})
	cost := costOf(m.strategy, rollbacks, stalls, lag)
	shown := fmt.Sprintf("%d states compared %s, %d changes", equal, cost, changes)
	switch {
	case different > 0:
		return fmt.Errorf("%w: %d states or more differed from the server's, seed %d%s", app.ErrFailed, different, v.Seed, report)
	case a.Ctx.Err() != nil:
		a.Logf("stopped early, no state differed: %s", shown)
		return nil
	case idle != "":
		return fmt.Errorf("%w: the run proved nothing, since no state of %s was compared: run it longer", app.ErrFailed, idle)
	case changes == 0 || rollbacks == 0 && v.RTT > 0 && v.Bots > 1 && m.strategy.Predicts && m.strategy.Needs.Exact:
		return fmt.Errorf("%w: the run proved nothing: %s; run it longer, with bots that do something", app.ErrFailed, shown)
	}
	a.Logf("%d confirmed states of %d clients equal the server's, %s", equal, v.Bots, cost)
	return nil
}

// costOf describes the cost of the network. Clients that predict roll back. Other clients that simulate stall. All but the
// first show an older state than the server's.
func costOf(s systems.Strategy, rollbacks, stalls uint64, lag float64) string {
	switch {
	case s.Predicts:
		return fmt.Sprintf("across %d rollbacks", rollbacks)
	case s.Needs.Exact:
		return fmt.Sprintf("with %d stalls and a display %.0f ms behind the server", stalls, lag)
	}
	return fmt.Sprintf("with a display %.0f ms behind the server", lag)
}

// lag returns the mean delay of the bots' displays behind the server at the end, in ms. It is the time of the ticks that are
// received and not shown yet, and half a round trip. Clients that predict have none.
func (m *match) lag() float64 {
	if m.strategy.Predicts {
		return 0
	}
	sum := 0.0
	for _, p := range m.players {
		s := p.Client.Stats()
		waiting := max(s.Strategy.ServerTick, s.Strategy.Present) - s.Strategy.Present
		sum += float64(waiting)*1e3/float64(p.Game.TickRate) + float64(s.RTT)/1e6/2
	}
	return sum / float64(len(m.players))
}

// renderLines returns the live table of a match.
func renderLines(title string, lines []player.Line) string {
	t := app.NewTable(title)
	t.AppendHeader(table.Row{"", "tick", "RTT ms", "rollbacks/s", "depth (max)", "corrections", "stalls", "up B/s", "down B/s", "frame µs (p99)", "checksums"})
	for _, l := range lines {
		sums := fmt.Sprintf("%d equal", l.Agreed)
		if l.Differed > 0 {
			sums = fmt.Sprintf("%d DIFFER of %d", l.Differed, l.Agreed+l.Differed)
		}
		t.AppendRow(table.Row{l.Name, l.Tick, fmt.Sprintf("%.0f", l.RTTMs), fmt.Sprintf("%.1f", l.PerSecond),
			fmt.Sprintf("%.1f (%d)", l.Depth, l.Deepest), l.Corrected, l.Stalls, fmt.Sprintf("%.0f", l.UpBps),
			fmt.Sprintf("%.0f", l.DownBps), fmt.Sprintf("%.0f (%.0f)", l.FrameP50Us, l.FrameP99Us), sums})
	}
	t.SetCaption("frame: duration of one Frame of the client, with all ticks that it simulates and resimulates")
	return t.Render() + "\n"
}

// page serves the lab's page with the demo's network, and its strategy beside lockstep, which predicts nothing.
func (v *Verb) page(a *app.App) error {
	if v.For != nil {
		return errors.New("--for: the page stays until Ctrl-C: leave --for or --page out")
	}
	s := labpage.Usual(app.ChooseSeed(v.Seed))
	s.RTT, s.Jitter, s.Loss = float64(v.RTT)/float64(time.Millisecond), float64(v.Jitter)/float64(time.Millisecond), v.Loss
	s.Players = v.Bots + 1
	s.Sync = []string{"lockstep", v.Sync}
	if v.Sync == "lockstep" {
		s.Sync[1] = "relay"
	}
	return v.PageFlags.Serve(a, s)
}

// match is the match of demo: a server, the simulated network and the bots. finish closes all of it.
type match struct {
	app      *app.App
	strategy systems.Strategy
	host     *host.Host
	proxies  []*simnet.Proxy
	players  []*player.Player
	wait     sync.WaitGroup

	once   sync.Once
	failed error // error of the first bot that ended early; read after wait
}

// start opens the match. Tokens name the proxies, so these are opened before the server.
func (v *Verb) start(a *app.App, strategy systems.Strategy) (*match, error) {
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("no socket on the loopback interface: %w", err)
	}
	m := &match{app: a, strategy: strategy}
	public, err := v.openProxies(m, socket.LocalAddr().(*net.UDPAddr).AddrPort())
	if err == nil {
		m.host, err = host.Start(a, host.Config{Flags: &v.Flags, Strategy: strategy, Seed: v.Seed, Compare: true, Config: server.Config{
			Socket: socket, Public: public, MaxRooms: 1, Workers: 1}})
	}
	if err != nil {
		socket.Close() // the second time, if the server was started
		return nil, errors.Join(err, m.finish())
	}
	for i := range v.Bots {
		name, ledger := fmt.Sprintf("bot %d", i+1), host.NewLedger(a.Game, "client", m.host.Recorder)
		c, err := m.host.Dial(public[i], "demo", i, client.Config{Name: name, Bot: true, BotSeed: v.Seed + uint64(i), Observer: ledger})
		if err != nil {
			return nil, errors.Join(err, m.finish())
		}
		p := player.New(name, c, a.Game)
		p.Ledger, p.Server = ledger, m.host.Checksums
		m.players = append(m.players, p)
	}
	return m, nil
}

// openProxies opens a simulated network between each bot and the server.
func (v *Verb) openProxies(m *match, target netip.AddrPort) (public []netip.AddrPort, err error) {
	path := simnet.Path{Delay: v.RTT / 2, Jitter: simnet.Jitter{Kind: simnet.Uniform, Size: v.Jitter}, Loss: v.Loss / 100}
	profile := simnet.Symmetric("demo", "the demo's network", path)
	for i := range v.Bots {
		p, err := simnet.NewProxy(target, profile, v.Seed+uint64(i))
		if err != nil {
			return nil, err
		}
		m.proxies = append(m.proxies, p)
		public = append(public, p.Addr())
	}
	return public, nil
}

// play runs each bot on its own goroutine. The first bot that fails or finds a desync calls stop.
func (m *match) play(ctx context.Context, stop func()) {
	for _, p := range m.players {
		m.wait.Go(func() {
			err := p.Run(ctx)
			if err == nil {
				return
			}
			if !errors.Is(err, player.ErrDesynced) { // verdict reports desyncs
				m.once.Do(func() { m.failed = fmt.Errorf("%s: %w", p.Name, err) })
			}
			stop()
		})
	}
}

func (m *match) lines() []player.Line {
	lines := make([]player.Line, len(m.players))
	for i, p := range m.players {
		lines[i] = p.Line()
	}
	return lines
}

// costs returns the costs of the server and the mean costs of a bot. The match must be finished.
func (m *match) costs() []cost.Report {
	clients := host.NewLedger(m.app.Game, "client", nil)
	for _, p := range m.players {
		clients.Merge(p.Ledger)
	}
	_, past := m.host.Costs()
	return []cost.Report{past, clients.Report()}
}

// finish closes bots, server and network. The context of the bots must be done.
func (m *match) finish() error {
	m.wait.Wait()
	err := m.failed
	if m.host != nil {
		err = errors.Join(err, m.host.Stop())
	}
	for _, p := range m.proxies {
		p.Close()
	}
	return err
}

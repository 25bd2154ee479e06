// Package demo is the verb that plays a match of bots on a simulated network and checks it for desyncs.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/host"
	"tendon/cmd/cli/internal/netflags"
	"tendon/cmd/cli/internal/player"
	"tendon/cmd/cli/internal/static"
	"tendon/cmd/cli/labpage"
	"tendon/cmd/cli/replaypage"
	"tendon/cmd/cli/verbs/lab"
	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/cost"
	"tendon/net/server"
	"tendon/net/simnet"
	"tendon/systems"
)

// Verb plays a match of bots on the loopback interface with a simulated network, and compares every confirmed state.
type Verb struct {
	host.Flags `embed:""`

	Bots int            `default:"3" help:"Number of bots."`
	For  *time.Duration `help:"Duration. Default: until Ctrl-C."`
	Seed uint64         `help:"Seed of the match and of the network. Default: a random one, which is printed."`

	netflags.NetFlags `embed:"" set:"rtt=100ms" set:"jitter=20ms" set:"loss=5"`
	app.TableFlags    `embed:""`
	lab.PageFlags     `embed:""`
	static.Flag       `embed:""`

	network simnet.Profile // of NetFlags
}

// Help explains the verb.
func (Verb) Help() string {
	return `A server and its bots exchange packets over real UDP sockets of the loopback interface, with a bad network in between.
The table shows for each client its connection, its rollbacks, and whether its confirmed states equal the server's. The
run ends at the first desync that it can explain. The exit code is 1 if a state differed, or if a run of the given length
proved nothing: no state compared, nothing changed, or, with relay in a game with inputs, no rollback.

The last line shows the effect of the network. With relay and predict it is the number of rollbacks. With lockstep it is the
number of stalls, and the delay of the display behind the server at the end of the run. With verify and reckon it is that
delay.

Examples:
  demo --for 20s
  demo --sync lockstep --for 20s
  demo --rtt 250ms --jitter 40ms --loss 10
  demo --net P5 --for 20s
  demo --for 20s --record recordings
  demo --for 1m --json
  demo --for 20s --export site  a page that replays the run, as files
  demo --page                   the lab in a browser, with this network`
}

// check returns an error if a flag is out of range.
func (v *Verb) check(a *app.App) error {
	switch {
	case v.RelayOnly:
		return errors.New("--relay-only is for serve: demo compares every state with the server's, so the server has to simulate")
	case v.Interest > 0 || v.Pairs:
		return errors.New("--interest and --pairs are for serve: demo compares whole states with the server's, and with --interest clients receive only a part")
	}
	return cmp.Or(a.NeedBot(), app.InRange("--bots", v.Bots, 1, a.Game.MaxPlayers), v.PageFlags.Check(), v.Flag.Check(a.Ctx, v.Page, static.ReplayScript))
}

// usual is the network without flags. The tags of Verb name the same figures.
var usual = simnet.Path{Delay: 50 * time.Millisecond, Jitter: simnet.Jitter{Size: 20 * time.Millisecond}, Loss: 0.05}

// Run plays the match.
func (v *Verb) Run(a *app.App) error {
	if err := v.check(a); err != nil {
		return err
	}
	var err error
	if v.network, err = v.NetFlags.Profile(usual); err != nil {
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
	if v.Export != "" && v.Record == "" { // the page needs a recording
		if v.Record, err = os.MkdirTemp("", "demo-*"); err != nil {
			return err
		}
		defer os.RemoveAll(v.Record)
	}
	m, err := v.start(a, strategy, cancel)
	if err != nil {
		return err
	}
	title := fmt.Sprintf("%s · %s · %d bots · %s · seed %d", a.Game.Name, v.Sync, v.Bots, netflags.Text(v.network), v.Seed)
	a.Logf("%s", title)
	a.Emit("start", app.Fields{"game": a.Game.Name, "sync": v.Sync, "bots": v.Bots, "net": v.network.Name, "rtt_ms": netflags.RTT(v.network).Seconds() * 1e3,
		"jitter_ms": v.network.Up.Jitter.Size.Seconds() * 1e3, "loss_percent": netflags.Loss(v.network), "seed": app.ID(v.Seed)})
	m.play(ctx, cancel)
	if a.Common.JSON {
		app.Every(ctx, time.Second, func() { a.Emit("stats", app.Fields{"clients": m.lines()}) })
	} else {
		app.Watch(ctx, a, cancel, func() string { return renderLines(title, m.lines(), v.Wide) })
	}
	err = m.finish()
	a.Print(renderLines(title, m.lines(), v.Wide))
	host.PrintCosts(a, m.costs()...)
	if err != nil {
		return err
	}
	if v.Export != "" {
		err = v.export(a, m)
	}
	return errors.Join(v.verdict(a, m), err)
}

// export writes the page that replays the recording of the run.
func (v *Verb) export(a *app.App, m *match) error {
	file := m.host.Recording()
	if file == "" {
		return errors.New("--export: the run has no recording")
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("--export: %w", err)
	}
	return v.Replay(a, replaypage.File{Name: fmt.Sprintf("demo, %s, seed %d", v.Sync, v.Seed), Data: data})
}

// needsRollbacks reports whether a run without a rollback proves nothing. A game of orders alone may have none in a short run.
func (v *Verb) needsRollbacks(s systems.Strategy, g *ecs.Game) bool {
	return netflags.RTT(v.network) > 0 && v.Bots > 1 && s.Predicts && s.Needs.Exact && g.Input.Size() > 0
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
		"stalls": stalls, "lag_ms": lag, "changes": changes, "seed": app.ID(v.Seed), "costs": m.costs()})
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
	case changes == 0 || rollbacks == 0 && v.needsRollbacks(m.strategy, a.Game):
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
func renderLines(title string, lines []player.Line, wide bool) string {
	t := app.NewTable(title, "", "tick", "RTT ms", "checksums", "rollbacks/s", "depth (max)", "stalls", "corrections", "cancelled (events)", "up B/s", "down B/s", "frame µs (p99)")
	t.Extra = []string{"cancelled (events)", "frame µs (p99)", "down B/s", "up B/s", "corrections", "stalls", "depth (max)", "RTT ms"}
	for _, l := range lines {
		sums := fmt.Sprintf("%d equal", l.Agreed)
		if l.Differed > 0 {
			sums = fmt.Sprintf("%d DIFFER of %d", l.Differed, l.Agreed+l.Differed)
		}
		t.AppendRow(table.Row{l.Name, l.Tick, fmt.Sprintf("%.0f", l.RTTMs), sums, fmt.Sprintf("%.1f", l.PerSecond),
			fmt.Sprintf("%.1f (%d)", l.Depth, l.Deepest), l.Stalls, l.Corrected, fmt.Sprintf("%d (%d)", l.Cancelled, l.Predicted), fmt.Sprintf("%.0f", l.UpBps),
			fmt.Sprintf("%.0f", l.DownBps), fmt.Sprintf("%.0f (%.0f)", l.FrameP50Us, l.FrameP99Us)})
	}
	if wide {
		t.Caption = "cancelled: events that were shown and then removed by a correction, of the events shown before their tick was confirmed. frame: duration of one Frame of the client, with all ticks that it simulates and resimulates"
	}
	return t.Text(wide)
}

// page serves the lab's page with the demo's network, and its strategy beside lockstep, which predicts nothing.
func (v *Verb) page(a *app.App) error {
	if v.For != nil {
		return errors.New("--for: the page stays until Ctrl-C: leave --for or --page out")
	}
	s := labpage.Usual(app.ChooseSeed(v.Seed))
	lab.SetNetwork(&s, v.network)
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
	network  *netflags.Network
	players  []*player.Player
	wait     sync.WaitGroup

	once   sync.Once
	failed error // error of the first bot that ended early; read after wait
}

// start opens the match.
func (v *Verb) start(a *app.App, strategy systems.Strategy, stop func()) (*match, error) {
	m := &match{app: a, strategy: strategy}
	var err error
	if m.network, err = netflags.Open(v.network, v.Bots, v.Seed); err != nil {
		return nil, err
	}
	m.host, err = host.Start(a, host.Config{Flags: &v.Flags, Strategy: strategy, Seed: v.Seed, Compare: true, Crash: stop, Config: server.Config{
		Socket: m.network.Socket, Public: m.network.Public, MaxRooms: 1, Workers: 1}})
	if err != nil {
		m.network.Socket.Close() // the second time, if the server was started
		return nil, errors.Join(err, m.finish())
	}
	for i := range v.Bots {
		name, ledger := fmt.Sprintf("bot %d", i), host.NewLedger(a.Game, "client", m.host.Recorder)
		c, err := m.host.Dial(m.network.Public[i], "demo", i, client.Config{Name: name, Bot: true, BotSeed: v.Seed + uint64(i), Observer: ledger})
		if err != nil {
			return nil, errors.Join(err, m.finish())
		}
		p := player.New(name, c, a.Game)
		p.Ledger, p.Server = ledger, m.host.Checksums
		m.players = append(m.players, p)
	}
	return m, nil
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
	m.network.Close()
	return err
}

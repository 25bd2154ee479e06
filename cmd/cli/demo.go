package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"tendon/ecs"
	"tendon/systems"
)

// demoVerb plays a match of bots on the loopback interface with a simulated network, and compares every confirmed state.
type demoVerb struct {
	syncFlags   `embed:""`
	slowFlags   `embed:""`
	desyncFlags `embed:""`

	Bots   int           `default:"3" help:"Number of bots."`
	For    time.Duration `help:"Duration. Default: until Ctrl-C."`
	RTT    time.Duration `name:"rtt" default:"100ms" help:"Round trip time between each bot and the server."`
	Jitter time.Duration `default:"20ms" help:"Jitter of each packet, up to ± this."`
	Loss   float64       `default:"5" help:"Packets lost each way, in percent."`
	Seed   uint64        `help:"Seed of the match and of the network. Default: a random one, which is printed."`
	Record string        `type:"path" help:"Record the match into this directory; replay opens it."`

	pageFlags `embed:""`

	chosen  systems.Strategy
	bundles *desyncs
}

// Help explains the verb.
func (demoVerb) Help() string {
	return `A server and its bots exchange packets over real UDP sockets of the loopback interface, with a bad network in between.
The table shows for each client its connection, its rollbacks, and whether its confirmed states equal the server's. The
run ends at the first desync that it can explain. The exit code is 1 if a state differed, or if a run of the given length
proved nothing: no state compared, nothing changed, or, with relay, no rollback.

The last line says what the network cost. With relay and predict that is rollbacks. Lockstep predicts nothing: there it is
stalls, and the delay of the display behind the server at the end of the run. With verify and reckon it is that delay.

Examples:
  demo --for 20s
  demo --sync lockstep --for 20s
  demo --rtt 250ms --jitter 40ms --loss 10
  demo --for 20s --record recordings
  demo --for 1m --json
  demo --page                         the lab in a browser, starting with this network`
}

// check returns an error if a flag is out of range.
func (v *demoVerb) check(g *ecs.Game) error {
	switch {
	case g.Bot == nil:
		return errors.New("the game has no Bot, so there would be no player: set ecs.Game.Bot")
	case v.Bots < 1 || v.Bots > g.MaxPlayers:
		return fmt.Errorf("--bots %d: the game takes 1 to %d players", v.Bots, g.MaxPlayers)
	case !(v.Loss >= 0 && v.Loss <= 100):
		return fmt.Errorf("--loss %g: give a percentage, 0 to 100", v.Loss)
	case v.RelayOnly:
		return errors.New("--relay-only is for serve: demo compares every state with the server's, so the server has to simulate")
	case v.Interest > 0:
		return errors.New("--interest is for serve: demo compares whole states with the server's, and with --interest clients receive only a part")
	case v.RTT < 0 || v.RTT > 2*time.Minute:
		return fmt.Errorf("--rtt %v: give 0s to 2m", v.RTT)
	case v.Jitter < 0 || v.Jitter > time.Minute:
		return fmt.Errorf("--jitter %v: give 0s to 1m", v.Jitter)
	}
	return nil
}

// Run plays the match.
func (v *demoVerb) Run(a *app) error {
	err := v.check(a.game)
	if err == nil {
		err = v.pageFlags.check()
	}
	if err == nil {
		v.chosen, err = v.strategy(a.game)
	}
	switch {
	case err != nil:
		return err
	case v.Page:
		return v.page(a)
	}
	if v.bundles, err = v.desyncs(a, v.chosen); err != nil {
		return err
	}
	v.Seed = chooseSeed(v.Seed)
	ctx, cancel, err := a.until(v.For)
	if err != nil {
		return err
	}
	defer cancel()
	recorder, err := v.recorder(a)
	if err != nil {
		return err
	}
	defer closeRecorder(recorder)
	m, err := v.start(a, recorder)
	if err != nil {
		return err
	}
	title := fmt.Sprintf("%s · %s · %d bots · %v RTT, ±%v jitter, %g %% loss · seed %d", a.game.Name, v.Sync, v.Bots, v.RTT, v.Jitter, v.Loss, v.Seed)
	a.say("%s", title)
	a.emit("start", fields{"game": a.game.Name, "sync": v.Sync, "bots": v.Bots, "rtt_ms": v.RTT.Seconds() * 1e3,
		"jitter_ms": v.Jitter.Seconds() * 1e3, "loss_percent": v.Loss, "seed": v.Seed})
	m.play(ctx, cancel)
	if a.common.JSON {
		every(ctx, time.Second, func() { a.emit("stats", fields{"clients": m.lines()}) })
	} else {
		watch(ctx, a, cancel, func() string { return renderLines(title, m.lines()) })
	}
	err = m.finish()
	a.tell(renderLines(title, m.lines()))
	printCosts(a, m.costs()...)
	if err != nil {
		return err
	}
	return v.verdict(a, m)
}

// verdict returns nil if the run showed that every state was equal, else a failed check.
func (v *demoVerb) verdict(a *app, m *match) error {
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
	changes, lag := m.host.checksums.changed(), m.lag()
	a.emit("result", fields{"clients": m.lines(), "checksums_equal": equal, "desyncs": different, "rollbacks": rollbacks,
		"stalls": stalls, "lag_ms": lag, "changes": changes, "seed": v.Seed, "costs": m.costs()})
	cost := costOf(m.host.strategy, rollbacks, stalls, lag)
	shown := fmt.Sprintf("%d states compared %s, %d changes", equal, cost, changes)
	switch {
	case different > 0:
		return fmt.Errorf("%w: %d states or more differed from the server's, seed %d%s", errFailed, different, v.Seed, report)
	case a.ctx.Err() != nil:
		a.say("stopped early, no state differed: %s", shown)
		return nil
	case idle != "":
		return fmt.Errorf("%w: the run proved nothing, since no state of %s was compared: run it longer", errFailed, idle)
	case changes == 0 || rollbacks == 0 && v.RTT > 0 && v.Bots > 1 && m.host.strategy.Predicts && m.host.strategy.Needs.Exact:
		return fmt.Errorf("%w: the run proved nothing: %s; run it longer, with bots that do something", errFailed, shown)
	}
	a.say("%d confirmed states of %d clients equal the server's, %s", equal, v.Bots, cost)
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

// lag returns the mean delay of the bots' displays behind the server at the end, in ms: the ticks received and not shown
// yet, and half a round trip. Clients that predict have none.
func (m *match) lag() float64 {
	if m.host.strategy.Predicts {
		return 0
	}
	sum := 0.0
	for _, p := range m.players {
		s := p.client.Stats()
		waiting := max(s.Strategy.ServerTick, s.Strategy.Present) - s.Strategy.Present
		sum += float64(waiting)*1e3/float64(p.game.TickRate) + float64(s.RTT)/1e6/2
	}
	return sum / float64(len(m.players))
}

// renderLines returns the live table of a match.
func renderLines(title string, lines []line) string {
	t := newTable(title)
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

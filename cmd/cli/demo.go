package cli

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"tendon/net/client"
	"tendon/net/server"
	"tendon/net/simnet"
)

// demoVerb plays bots against each other over a spoiled loopback and checks every confirmed state.
type demoVerb struct {
	Sync   string        `default:"relay" help:"The sync strategy."`
	Bots   int           `default:"3" help:"How many bots play."`
	For    time.Duration `help:"How long; 0: until Ctrl-C."`
	RTT    time.Duration `name:"rtt" default:"100ms" help:"Round trip put between each bot and the server."`
	Jitter time.Duration `default:"20ms" help:"Jitter put on each packet, up to ± this."`
	Loss   float64       `default:"5" help:"Packets lost each way, in percent."`
	Seed   uint64        `help:"Seed of the match and of the network; 0: chosen and printed."`
}

// Help explains the verb.
func (demoVerb) Help() string {
	return `A server and its bots talk over real UDP sockets of the loopback interface, with a bad network in between.
The table shows for each client what the network costs it and whether its confirmed states equal the server's.
The exit code is 1 if any differed, or if the run was too quiet to prove anything.

Examples:
  demo --for 20s
  demo --rtt 250ms --jitter 40ms --loss 10
  demo --for 1m --json`
}

// Run plays the match.
func (v *demoVerb) Run(a *app) error {
	if a.game.Bot == nil {
		return fmt.Errorf("the game has no Bot, so nobody would play: set ecs.Game.Bot")
	}
	if v.Bots < 1 || v.Bots > a.game.MaxPlayers {
		return fmt.Errorf("--bots %d: the game takes 1 to %d players", v.Bots, a.game.MaxPlayers)
	}
	if v.Loss < 0 || v.Loss > 100 || v.RTT < 0 || v.Jitter < 0 {
		return fmt.Errorf("--loss is a percentage, --rtt and --jitter are times ≥ 0")
	}
	if v.Seed == 0 {
		v.Seed = uint64(time.Now().UnixNano())
	}
	m, err := v.start(a)
	if err != nil {
		return err
	}
	title := fmt.Sprintf("%s · %s · %d bots · %v RTT, ±%v jitter, %g %% loss · seed %d", a.game.Name, v.Sync, v.Bots, v.RTT, v.Jitter, v.Loss, v.Seed)
	a.say("%s", title)
	ctx, stop := context.WithCancel(a.ctx)
	defer stop()
	if v.For > 0 {
		ctx, stop = context.WithTimeout(a.ctx, v.For)
		defer stop()
	}
	failed := m.play(ctx, stop)
	if a.common.JSON {
		m.watchJSON(ctx, a)
	} else {
		watch(ctx, a.note, stop, func() string { return renderLines(title, m.lines()) })
	}
	stop()
	err = m.finish()
	if !a.common.JSON {
		fmt.Fprint(a.out, renderLines(title, m.lines()))
	}
	if err == nil {
		err = *failed
	}
	return v.verdict(a, m, err)
}

// demoMatch is a server, the bad network and the bots.
type demoMatch struct {
	host    *host
	proxies []*simnet.Proxy
	players []*player
	wait    sync.WaitGroup
}

// start opens everything. The proxies must exist before the server, whose tokens name them.
func (v *demoVerb) start(a *app) (*demoMatch, error) {
	m := &demoMatch{}
	socket, addr, err := listenUDP()
	if err != nil {
		return nil, err
	}
	path := simnet.Path{Delay: v.RTT / 2, Jitter: simnet.Jitter{Kind: simnet.Uniform, Size: v.Jitter}, Loss: v.Loss / 100}
	profile := simnet.Symmetric("demo", "the demo's network", path)
	var public []netip.AddrPort
	for i := range v.Bots {
		p, err := simnet.NewProxy(simnet.ProxyConfig{Target: addr, Profile: profile, Seed: v.Seed + uint64(i)})
		if err != nil {
			m.closeProxies()
			socket.Close()
			return nil, err
		}
		m.proxies = append(m.proxies, p)
		public = append(public, p.Addr())
	}
	m.host, err = startHost(a, hostConfig{sync: v.Sync, socket: socket, public: public, key: randomKey(), maxRooms: 1, workers: 1, seed: v.Seed, truth: true})
	if err != nil {
		m.closeProxies()
		socket.Close()
		return nil, err
	}
	for i := range v.Bots {
		token, err := m.host.ticket(public[i], server.Pass{Room: "demo", Seat: i}, time.Hour)
		if err != nil {
			return nil, err
		}
		c, err := client.Dial(client.DialConfig{Token: token, Config: client.Config{Game: a.game, Strategies: strategies,
			Name: fmt.Sprintf("bot %d", i+1), Bot: true, BotSeed: v.Seed + uint64(i)}})
		if err != nil {
			return nil, err
		}
		m.players = append(m.players, newPlayer(fmt.Sprintf("bot %d", i+1), c, a.game, m.host.truth))
	}
	return m, nil
}

// play lets the bots run on goroutines of their own. The error is what ended the first of them early; it is set when
// finish has returned.
func (m *demoMatch) play(ctx context.Context, stop func()) *error {
	var failed error
	var once sync.Once
	for _, p := range m.players {
		m.wait.Add(1)
		go func() {
			defer m.wait.Done()
			if err := p.run(ctx); err != nil {
				once.Do(func() { failed = fmt.Errorf("%s: %w", p.name, err) })
				stop()
			}
		}()
	}
	return &failed
}

func (m *demoMatch) lines() []line {
	lines := make([]line, len(m.players))
	for i, p := range m.players {
		lines[i] = p.line()
	}
	return lines
}

// watchJSON prints every client's line once a second.
func (m *demoMatch) watchJSON(ctx context.Context, a *app) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			a.printJSON(map[string]any{"clients": m.lines()})
		}
	}
}

// finish ends bots, server and network.
func (m *demoMatch) finish() error {
	m.wait.Wait()
	err := m.host.stop()
	m.closeProxies()
	return err
}

func (m *demoMatch) closeProxies() {
	for _, p := range m.proxies {
		p.Close()
	}
}

// quietLimit is how long a demo must last before it is expected to have seen rollbacks.
const quietLimit = 5 * time.Second

// verdict says what the run showed: err if it broke, a failed check if a state differed or nothing was shown.
func (v *demoVerb) verdict(a *app, m *demoMatch, err error) error {
	if err != nil {
		return err
	}
	var equal, different, rollbacks uint64
	report := ""
	for _, l := range m.lines() {
		equal, different, rollbacks = equal+l.Agreed, different+l.Differed+l.Resyncs, rollbacks+l.Rollbacks
		if l.Desync != "" {
			report = "\n" + l.Name + ": " + l.Desync
		}
	}
	changes := m.host.truth.changes()
	if a.common.JSON {
		a.printJSON(map[string]any{"clients": m.lines(), "checksums_equal": equal, "desyncs": different, "rollbacks": rollbacks,
			"checksum_changes": changes, "seed": v.Seed})
	}
	switch {
	case different > 0:
		return fmt.Errorf("%w: %d states differed from the server's; seed %d%s", errFailed, different, v.Seed, report)
	case v.For >= quietLimit && (equal == 0 || changes == 0 || rollbacks == 0 && v.RTT > 0 && v.Bots > 1):
		return fmt.Errorf("%w: the run proved nothing: %d states compared, %d rollbacks, %d changes", errFailed, equal, rollbacks, changes)
	}
	a.say("%d confirmed states of %d clients equal the server's, across %d rollbacks", equal, len(m.players), rollbacks)
	return nil
}

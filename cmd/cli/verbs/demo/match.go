package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/host"
	"tendon/cmd/cli/internal/player"
	"tendon/cmd/cli/internal/tokens"
	"tendon/net/client"
	"tendon/net/cost"
	"tendon/net/netcode"
	"tendon/net/server"
	"tendon/net/simnet"
	"tendon/systems"
)

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
			Socket: socket, Public: public, Keys: []netcode.Key{tokens.RandomKey()}, MaxRooms: 1, Workers: 1}})
	}
	if err != nil {
		m.closeProxies()
		socket.Close() // the second time, if the server was started
		return nil, err
	}
	for i := range v.Bots {
		name, ledger := fmt.Sprintf("bot %d", i+1), host.NewLedger(a.Game, "client", m.host.Recorder)
		c, err := m.host.Dial(public[i], "demo", i, client.Config{Name: name, Bot: true, BotSeed: v.Seed + uint64(i), Observer: ledger})
		if err != nil {
			return nil, errors.Join(err, m.finish())
		}
		p := player.New(name, c, a.Game, m.host.Checksums)
		p.Ledger = ledger
		m.players = append(m.players, p)
	}
	return m, nil
}

// openProxies opens a simulated network between each bot and the server.
func (v *Verb) openProxies(m *match, target netip.AddrPort) (public []netip.AddrPort, err error) {
	path := simnet.Path{Delay: v.RTT / 2, Jitter: simnet.Jitter{Kind: simnet.Uniform, Size: v.Jitter}, Loss: v.Loss / 100}
	profile := simnet.Symmetric("demo", "the demo's network", path)
	for i := range v.Bots {
		p, err := simnet.NewProxy(simnet.ProxyConfig{Target: target, Profile: profile, Seed: v.Seed + uint64(i)})
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
	err := m.host.Stop()
	m.closeProxies()
	return errors.Join(m.failed, err)
}

func (m *match) closeProxies() {
	for _, p := range m.proxies {
		p.Close()
	}
}

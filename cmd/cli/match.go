package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"tendon/net/client"
	"tendon/net/cost"
	"tendon/net/server"
	"tendon/net/simnet"
)

// match is the match of demo: a server, the simulated network and the bots. finish closes all of it.
type match struct {
	host    *host
	proxies []*simnet.Proxy
	players []*player
	wait    sync.WaitGroup

	once   sync.Once
	failed error // error of the first bot that ended early; read after wait
}

// start opens the match. Tokens name the proxies, so these are opened before the server.
func (v *demoVerb) start(a *app, recorder *cost.Recorder) (*match, error) {
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("no socket on the loopback interface: %w", err)
	}
	m := &match{}
	public, err := v.openProxies(m, socket.LocalAddr().(*net.UDPAddr).AddrPort())
	if err == nil {
		m.host, err = startHost(a, hostConfig{strategy: v.chosen, flags: v.commandLine(), socket: socket, public: public, key: randomKey(), maxRooms: 1, workers: 1, seed: v.Seed, compare: true, recorder: recorder, desyncs: v.bundles, record: v.Record})
	}
	if err != nil {
		m.closeProxies()
		socket.Close() // the second time, if the server was started
		return nil, err
	}
	for i := range v.Bots {
		name, ledger := fmt.Sprintf("bot %d", i+1), newLedger(a.game, "client", recorder)
		c, err := m.host.dial(public[i], server.Pass{Room: "demo", Seat: i}, client.Config{Name: name, Bot: true, BotSeed: v.Seed + uint64(i), Observer: ledger, Desynced: v.bundles.client})
		if err != nil {
			return nil, errors.Join(err, m.finish())
		}
		p := newPlayer(name, c, a.game, m.host.checksums)
		p.ledger = ledger
		m.players = append(m.players, p)
	}
	return m, nil
}

// openProxies opens a simulated network between each bot and the server.
func (v *demoVerb) openProxies(m *match, target netip.AddrPort) (public []netip.AddrPort, err error) {
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
			err := p.run(ctx)
			if err == nil {
				return
			}
			if !errors.Is(err, errDesynced) { // verdict reports desyncs
				m.once.Do(func() { m.failed = fmt.Errorf("%s: %w", p.name, err) })
			}
			stop()
		})
	}
}

func (m *match) lines() []line {
	lines := make([]line, len(m.players))
	for i, p := range m.players {
		lines[i] = p.line()
	}
	return lines
}

// costs returns the costs of the server and the mean costs of a bot. The match must be finished.
func (m *match) costs() []cost.Report {
	clients := newLedger(m.host.game, "client", nil)
	for _, p := range m.players {
		clients.Merge(p.ledger)
	}
	return []cost.Report{m.host.costs.total(), clients.Report()}
}

// finish closes bots, server and network. The context of the bots must be done.
func (m *match) finish() error {
	m.wait.Wait()
	err := m.host.stop()
	m.closeProxies()
	return errors.Join(m.failed, err)
}

func (m *match) closeProxies() {
	for _, p := range m.proxies {
		p.Close()
	}
}

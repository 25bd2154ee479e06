package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"tendon/net/client"
	"tendon/net/cost"
	"tendon/net/server"
	"tendon/net/simnet"
)

// match is the demo's: a server, the bad network and the bots. What was opened is closed by finish.
type match struct {
	host    *host
	proxies []*simnet.Proxy
	players []*player
	wait    sync.WaitGroup

	once   sync.Once
	failed error // what ended the first bot early; read after wait
}

// start opens everything. The proxies must exist before the server, whose tokens name them.
func (v *demoVerb) start(a *app, recorder *cost.Recorder) (*match, error) {
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("no socket on the loopback interface: %w", err)
	}
	m := &match{}
	public, err := v.openProxies(m, socket.LocalAddr().(*net.UDPAddr).AddrPort())
	if err == nil {
		m.host, err = startHost(a, hostConfig{strategy: v.chosen, socket: socket, public: public, key: randomKey(), maxRooms: 1, workers: 1, seed: v.Seed, truth: true, recorder: recorder, desyncs: v.bundles, record: v.Record})
	}
	if err != nil {
		m.closeProxies()
		socket.Close() // again, if there was a server already
		return nil, err
	}
	for i := range v.Bots {
		p, err := v.seat(a, m.host, public[i], i, newLedger(a.game, "client", recorder))
		if err != nil {
			return nil, errors.Join(err, m.finish())
		}
		m.players = append(m.players, p)
	}
	return m, nil
}

// openProxies puts a bad network before the server for each bot.
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

// seat returns the bot of one seat.
func (v *demoVerb) seat(a *app, h *host, at netip.AddrPort, seat int, ledger *cost.Ledger) (*player, error) {
	token, err := h.ticket(at, server.Pass{Room: "demo", Seat: seat}, time.Hour)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("bot %d", seat+1)
	c, err := client.Dial(client.DialConfig{Token: token, Config: client.Config{Game: a.game, Strategies: strategies,
		Name: name, Bot: true, BotSeed: v.Seed + uint64(seat), Observer: ledger, Desynced: v.bundles.client}})
	if err != nil {
		return nil, err
	}
	p := newPlayer(name, c, a.game, h.truth)
	p.ledger = ledger
	return p, nil
}

// play lets the bots run on goroutines of their own; the first that ends early, or meets a desync, calls stop.
func (m *match) play(ctx context.Context, stop func()) {
	for _, p := range m.players {
		m.wait.Go(func() {
			err := p.run(ctx)
			if err == nil {
				return
			}
			if !errors.Is(err, errDesynced) { // which the verdict reports
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

// costs returns what the server and a bot have cost, the mean of all, when the match is finished.
func (m *match) costs() []cost.Report {
	clients := newLedger(m.host.game, "client", nil)
	for _, p := range m.players {
		clients.Merge(p.ledger)
	}
	return []cost.Report{m.host.costs.total(), clients.Report()}
}

// finish ends bots, server and network. The bots' context is done.
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

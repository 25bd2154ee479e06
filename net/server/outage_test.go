package server

import (
	"net/netip"
	"sync"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/race"
	"tendon/net/client"
	"tendon/net/room"
	"tendon/systems"
	"tendon/systems/relay"
)

// gate is a socket that can be closed for a time: reads and writes then wait. A server waits on it with all its goroutines,
// as one that is suspended.
type gate struct {
	Socket
	mu     sync.Mutex
	opened chan struct{} // nil while it is open
}

func (g *gate) wait() {
	g.mu.Lock()
	opened := g.opened
	g.mu.Unlock()
	if opened != nil {
		<-opened
	}
}

func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !open {
		g.opened = make(chan struct{})
	} else if g.opened != nil {
		close(g.opened)
		g.opened = nil
	}
}

func (g *gate) ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error) {
	n, from, err := g.Socket.ReadFromUDPAddrPort(b)
	g.wait()
	return n, from, err
}

func (g *gate) WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error) {
	g.wait()
	return g.Socket.WriteToUDPAddrPort(b, to)
}

// passAt plays for a time with few frames per second.
func (w *world) passAt(d time.Duration, hz int) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(min(time.Second/time.Duration(hz), time.Until(end)))
		for _, p := range w.players {
			p.err = p.Frame(time.Now())
		}
	}
}

// tick returns the last tick of a room.
func (w *world) tick(name string) (tick ecs.Tick) {
	w.do(name, func(r *room.Room) { tick = r.Tick() })
	return tick
}

// outages begin an outage of a player's connection. The function that they return ends it.
var outages = map[string]func(w *world, g *gate, p *player) (end func()){
	"up":   func(w *world, _ *gate, p *player) func() { return w.cut(p, true, false) },
	"down": func(w *world, _ *gate, p *player) func() { return w.cut(p, false, true) },
	"both": func(w *world, _ *gate, p *player) func() { return w.cut(p, true, true) },
	"server suspended": func(_ *world, g *gate, _ *player) func() {
		g.set(false)
		return func() { g.set(true) }
	},
	"client suspended": func(w *world, _ *gate, p *player) func() {
		all := w.players
		w.players = nil
		for _, other := range all {
			if other != p {
				w.players = append(w.players, other)
			}
		}
		return func() { w.players = all }
	},
}

func (w *world) cut(p *player, up, down bool) (end func()) {
	w.net.Block(p.host, serverHost, up)
	w.net.Block(serverHost, p.host, down)
	return func() {
		w.net.Block(p.host, serverHost, false)
		w.net.Block(serverHost, p.host, false)
	}
}

// isBack reports whether a player is in its seat again and receives messages.
func isBack(p *player) func() bool {
	before := p.Stats().Session.MessagesReceived
	return func() bool {
		s := p.Stats()
		return (s.State == client.Live || s.State == client.CatchingUp) && !s.Waiting && s.Session.MessagesReceived > before
	}
}

// playsOn reports whether a player is live and has received ticks after that one.
func playsOn(p *player, after ecs.Tick) func() bool {
	return func() bool { return p.State() == client.Live && p.Stats().Strategy.Confirmed > after+3 }
}

// outage plays a match of two clients with a fault of some length. It checks that both are back in their seats within three
// seconds, and that the first one plays on within that time. It returns the time until both were back.
func outage(t *testing.T, s systems.Strategy, profile, fault string, length time.Duration) (took time.Duration) {
	t.Helper()
	g := &gate{}
	inBubble(t, profile, func(c *Config) {
		g.Socket, c.Socket = c.Socket, g
		c.Room.KeepSeat, c.Room.Strategy = 11*60*systems.Second, s
	}, func(w *world) {
		a, b := w.pair(10 * time.Second)
		w.pass(2 * time.Second)
		seat := a.Seat()
		end := outages[fault](w, g, a)
		w.passAt(length, 12)
		end()
		start, last := time.Now(), w.tick("duel")
		back := []func() bool{isBack(a), isBack(b)}
		w.until("both are back", 3*time.Second, func() bool { return back[0]() && back[1]() })
		took = time.Since(start)
		w.until("a plays on", 3*time.Second-took, playsOn(a, last))
		t.Logf("%s, %s, %s for %v: back after %v, live after %v, %d reconnects", s.Name, profile, fault, length, took, time.Since(start), a.Stats().Reconnects)
		w.pass(time.Second)
		if n := w.runners("duel"); n != 2 || a.Seat() != seat {
			t.Errorf("%d runners, a in seat %d, was in %d", n, a.Seat(), seat)
		}
	})
	return took
}

// A client is back within three seconds after an outage, whatever its length and its direction, and whichever side was
// suspended. Its seat is kept, because KeepSeat is longer than every outage.
func TestAClientComesBackAfterAnOutage(t *testing.T) {
	short := []time.Duration{time.Second, 35 * time.Second}
	long := []time.Duration{time.Second, 5 * time.Second, 35 * time.Second, 84 * time.Second, 10 * time.Minute}
	for _, s := range strategies {
		for fault := range outages {
			t.Run(s.Name+"/"+fault, func(t *testing.T) {
				for _, length := range short {
					outage(t, s, "P2", fault, length)
				}
				if race.Long {
					for _, length := range long {
						outage(t, s, "P3", fault, length)
					}
				}
			})
		}
	}
}

// A server that was suspended answers all requests that arrived meanwhile, and only its last challenge is valid. A client that
// has just begun to present a token again first receives the challenge for its earlier request. It repeats the request.
func TestAClientAnswersTheLastChallenge(t *testing.T) {
	const cycle = 10 * time.Second // of the tokens on one socket: see attempts.go of net/client
	steps := 10
	if race.Long {
		steps = 100
	}
	for i := range steps {
		length := 20*time.Second + time.Duration(i)*cycle/time.Duration(steps)
		if took := outage(t, relay.Strategy, "P0", "server suspended", length); took > time.Second {
			t.Errorf("after %v: back after %v, want 1 s", length, took)
		}
	}
}

//go:build linux

package chaos

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tendon/cmd/cli/internal/crumbs"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/netcode"
	"tendon/net/server"
	"tendon/rollback/record"
	"tendon/systems"
	"tendon/systems/relay"
)

// player is a client with a bot. One goroutine of players plays it.
type player struct {
	*client.Client
	name, room string
	seat       int
	checker    *checker
	match      uint64
	tail       *record.Tail

	mu        sync.Mutex
	confirmed ecs.Tick
	moved     time.Time     // when confirmed rose last
	gap       time.Duration // longest time between two messages with new ticks, since mark
	live      bool
	base      ecs.Tick // confirmed at mark, or when await began
	noticed   bool     // the player was shown that the server was away, since mark
	notified  bool     // the server notified the player that the match waits, since mark
	loads     int      // states of the server that were loaded, since mark
	states    string
	ended     bool

	// The goroutine that plays the client uses these.
	arrived []systems.Time // arrivals of the messages with a newer tick in this frame, by the clock of the strategy
	framed  systems.Time   // time of the strategy's last Frame
	zero    time.Time      // of that clock. It stands still while the client waits for the server
	before  time.Time      // arrival of the last such message
	newest  ecs.Tick       // that a message has named
}

const (
	frameRate = 30 // half as many as usual, so that the clients leave time of the two cores for the servers
	// compareEvery is the interval in ticks at which states are compared. Inputs are compared at every tick.
	compareEvery = 8
	// stays is the number of ticks that a client must confirm to be back.
	stays = 60
)

// Begin receives a state of the server.
func (p *player) Begin(m client.Match, at record.Position, _ *image.Snapshot) {
	if m.Seat != p.seat {
		p.checker.fail("%s has seat %d, not %d", p.name, m.Seat, p.seat)
	}
	p.mu.Lock()
	p.loads++
	p.mu.Unlock()
	p.match = m.Number
	p.tail.Start(at)
	p.final()
}

// Tick receives a confirmed tick.
func (p *player) Tick(t record.Tick) {
	if !p.tail.Append(&t) {
		p.checker.fail("%s: tick %d does not follow the tick before", p.name, t.Tick)
		return
	}
	p.final()
}

func (p *player) final() {
	f, chain, _ := p.tail.Newest()
	p.checker.tick(p.name, p.room, p.match, f, chain)
}

// half is a client half that records when messages with newer ticks arrive.
type half struct {
	*relay.Client
	player *player
}

func (h *half) Receive(ch systems.Channel, message []byte, now systems.Time) error {
	err := h.Client.Receive(ch, message, now)
	if p, newest := h.player, h.Stats().ServerTick; newest > p.newest {
		p.newest, p.arrived = newest, append(p.arrived, now)
	}
	return err
}

func (h *half) Frame(now systems.Time) {
	h.player.framed = now
	h.Client.Frame(now)
}

// measured returns relay with client halves of type half.
func (p *player) measured() systems.Strategy {
	s := relay.Strategy
	s.NewClient = func(c systems.ClientConfig) (systems.Client, error) {
		inner, err := relay.Strategy.NewClient(c)
		if err != nil {
			return nil, err
		}
		return &half{Client: inner.(*relay.Client), player: p}, nil
	}
	return s
}

// enter connects a bot to a room, at the first of the addresses if that server has the room.
func enter(t testing.TB, c *checker, key netcode.Key, listen func(netip.AddrPort) (client.Socket, error), room string, seat, number int, addresses ...netip.AddrPort) *player {
	t.Helper()
	g := crumbs.Game()
	token, err := server.Mint(server.Ticket{ProtocolID: server.ProtocolID(g.Name), Key: key, ClientID: uint64(number) + 1, Addresses: addresses,
		Pass: server.Pass{Room: room, Seat: seat, Bot: true}, Lifetime: time.Hour}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	p := &player{name: fmt.Sprintf("client %d of room %s", seat, room), room: room, seat: seat, checker: c, moved: time.Now(), tail: record.NewTail(g, 256, 256<<10)}
	p.Client, err = client.Dial(client.DialConfig{Token: token, Listen: listen, Config: client.Config{Game: g, Strategies: []systems.Strategy{p.measured()}, Bot: true, BotSeed: uint64(number) + 1, Log: p, Notice: p.notice}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// notice receives a text of the server.
func (p *player) notice(_ int, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notified = p.notified || strings.HasPrefix(text, "the match waits")
}

// frame plays a frame.
func (p *player) frame(now time.Time) {
	if p.ended {
		return
	}
	p.arrived, p.framed = p.arrived[:0], 0
	err := p.Frame(now)
	p.Effects(func(systems.Effect) {})
	s := p.Stats()
	if err != nil || s.Strategy.Confirmed > 0 && len(p.Desyncs()) > 0 {
		p.ended = true
		p.checker.fail("%s ended: %v, %d differences, at tick %d, server time %s", p.name, err, len(p.Desyncs()), s.Strategy.Confirmed, now.Format(time.StampMilli))
	}
	rose := s.Strategy.Confirmed > p.confirmed
	if rose && s.State == client.Live && s.Strategy.Confirmed/compareEvery > p.confirmed/compareEvery {
		if _, _, state, _ := p.Snapshots(0); !state.Empty() {
			p.checker.state(p.name, p.room, p.match, state.Tick(), state.Checksum())
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.states = fmt.Sprintf("%v at tick %d, waiting %v, refused %v", s.State, s.Strategy.Confirmed, s.Waiting, p.Refusal())
	if rose {
		p.confirmed, p.moved = s.Strategy.Confirmed, now
	}
	if joined := s.State == client.Live || s.State == client.CatchingUp; joined && p.framed > 0 {
		p.zero = now.Add(-time.Duration(p.framed))
	}
	for _, arrived := range p.arrived {
		at := p.zero.Add(time.Duration(arrived))
		if at.After(now) {
			at = now
		}
		if !p.before.IsZero() {
			p.gap = max(p.gap, at.Sub(p.before))
		}
		p.before = at
	}
	if s.State != client.Live && s.State != client.CatchingUp && s.Away >= client.ShownAway || s.Waiting {
		p.noticed = true
	}
	p.live = s.State == client.Live && !p.ended
}

// players are all clients. Several goroutines play them.
type players struct {
	list []*player
	stop chan struct{}
	all  sync.WaitGroup
}

// play plays the clients until the end of the test.
func play(t testing.TB, list []*player) *players {
	a := &players{list: list, stop: make(chan struct{})}
	const together = 20
	for part := range slices.Chunk(list, together) {
		a.all.Go(func() {
			ticker := time.NewTicker(time.Second / frameRate)
			defer ticker.Stop()
			for {
				select {
				case <-a.stop:
					for _, p := range part {
						p.Close()
					}
					return
				case <-ticker.C:
					for _, p := range part {
						p.frame(time.Now())
					}
				}
			}
		})
	}
	t.Cleanup(a.close)
	return a
}

func (a *players) close() {
	select {
	case <-a.stop:
	default:
		close(a.stop)
	}
	a.all.Wait()
}

// mark begins a measurement.
func (a *players) mark() {
	for _, p := range a.list {
		p.mu.Lock()
		p.base, p.gap, p.noticed, p.notified, p.loads = p.confirmed, 0, false, false, 0
		p.mu.Unlock()
	}
}

// back reports whether the client has played for a while since await began.
func (p *player) back() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.live && p.confirmed >= p.base+stays
}

// await waits until all clients play, and reports those that do not within a time.
func (a *players) await(limit time.Duration) (missing []string) {
	for _, p := range a.list {
		p.mu.Lock()
		p.base = p.confirmed
		p.mu.Unlock()
	}
	away := func(p *player) bool { return !p.back() }
	for deadline := time.Now().Add(limit); slices.ContainsFunc(a.list, away) && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	for _, p := range a.list {
		if away(p) {
			p.mu.Lock()
			missing = append(missing, fmt.Sprintf("%s: %s, confirmed %d, base %d", p.name, p.states, p.confirmed, p.base))
			p.mu.Unlock()
		}
	}
	return missing
}

// gaps are what the players of some rooms experienced since mark.
type gaps struct {
	list     []time.Duration // longest times without a confirmed tick
	noticed  int             // players who were shown that the server was away
	notified int             // players whom the server notified that the match waits
	loaded   int             // players who loaded a state of the server
}

func (g *gaps) add(o gaps) {
	g.list = append(g.list, o.list...)
	g.noticed, g.notified, g.loaded = g.noticed+o.noticed, g.notified+o.notified, g.loaded+o.loaded
}

// String describes the times, and how many players noticed them.
func (g *gaps) String() string {
	return fmt.Sprintf("%+v; of %d players %d noticed it, %d were notified that the match waits, %d loaded a state", spreadOf(g.list), len(g.list), g.noticed, g.notified, g.loaded)
}

// gaps returns what the players of some rooms experienced since mark. rooms may be nil: all.
func (a *players) gaps(rooms map[string]bool) (g gaps) {
	for _, p := range a.list {
		if rooms == nil || rooms[p.room] {
			p.mu.Lock()
			g.list = append(g.list, max(p.gap, time.Since(p.moved)-time.Second/frameRate))
			if p.noticed {
				g.noticed++
			}
			if p.notified {
				g.notified++
			}
			if p.loads > 0 {
				g.loaded++
			}
			p.mu.Unlock()
		}
	}
	return g
}

// spread is a distribution of times.
type spread struct{ P50, P99, Worst time.Duration }

func spreadOf(list []time.Duration) (s spread) {
	if len(list) == 0 {
		return s
	}
	sorted := slices.Sorted(slices.Values(list))
	at := func(share float64) time.Duration {
		return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)].Round(time.Millisecond)
	}
	return spread{at(0.5), at(0.99), at(1)}
}

// roomName returns the name of a room.
func roomName(i int) string { return fmt.Sprintf("room%02d", i) }

// summary shortens a list of lines.
func summary(lines []string) string {
	const most = 6
	text := strings.Join(lines[:min(len(lines), most)], "\n  ")
	if n := len(lines) - most; n > 0 {
		text += fmt.Sprintf("\n  and %d more", n)
	}
	return cmp.Or(text, "none")
}

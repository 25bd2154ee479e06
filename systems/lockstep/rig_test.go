package lockstep_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/ecs/raworder"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/lockstep"
)

const ms = time.Millisecond

var (
	profile  = halves.Profile
	newWorld = halves.NewWorld
	imageOf  = halves.Image
)

// The game of the acceptance tests. Every operation changes the state, in a way that depends on the order of operations.
type (
	pad struct {
		DX, DY int8
		Held   uint8
		Fire   bool `tendon:"press"`
	}
	walker struct {
		X, Y        int32
		Held, Fires uint32
	}
	trace struct {
		Sum, Noise uint64
		Orders     uint32
		Fires      uint32
	}
)

var (
	padInput   = ecs.NewInput[pad]()
	walkerComp = ecs.NewComponent[walker]("walker")
	holderComp = ecs.NewComponent[ecs.Seat]("holder")
	story      = ecs.NewResource[trace]("story")
	walkers    = ecs.NewQuery2(ecs.Write(walkerComp), ecs.Read(holderComp))
)

func walk(w *ecs.World) {
	s := story.Write(w)
	s.Noise = s.Noise*6364136223846793005 + uint64(w.Rand().IntN(1<<20))
	for e := range walkers.All(w) {
		in := padInput.Of(w, e.B.Player)
		e.A.X += int32(in.DX)
		e.A.Y += int32(in.DY)
		e.A.Held = e.A.Held*31 + uint32(in.Held)
		if in.Fire {
			e.A.Fires++
			s.Fires++
			s.Sum = s.Sum*1099511628211 + uint64(e.B.Player)
		}
	}
}

// newGame returns a game that has a result in tick end, or never if end is 0.
func newGame(end ecs.Tick) *ecs.Game {
	g := &ecs.Game{Name: "walkers", TickRate: 60, MaxPlayers: 4, Input: padInput,
		Components: ecs.Components(walkerComp, holderComp), Resources: ecs.Resources(story), Systems: ecs.Systems(walk),
		Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) {
			e := w.Spawn(ecs.OwnedBy(p), walkerComp, holderComp)
			holderComp.Put(w, e, ecs.Seat{Player: p})
		},
		Leave: func(w *ecs.World, p ecs.Player) {
			for e := range walkers.All(w) {
				if e.B.Player == p {
					w.Despawn(e.Entity())
				}
			}
		},
		Orders: raworder.Orders(func(w *ecs.World, p ecs.Player, _ ecs.Entity, payload []byte) {
			s := story.Write(w)
			s.Orders++
			for _, b := range payload {
				s.Sum = s.Sum*1099511628211 + uint64(p)<<8 + uint64(b)
			}
		}),
	}
	if end > 0 {
		g.Result = func(w *ecs.World) []byte {
			if w.Tick() != end {
				return nil
			}
			return binary.LittleEndian.AppendUint64([]byte("sum "), story.Read(w).Sum)
		}
	}
	return g
}

// rig is a match of lockstep's halves that checks the invariants of the strategy: see took and executed.
type rig struct {
	*halves.Match
	config   lockstep.Config
	clients  []*client
	truth    *ecs.World // computed from the server's final ticks
	frames   []record   // by tick
	promised ecs.Tick   // newest S that was sent
	onSend   func(c *client, ch systems.Channel, m []byte)
	onUp     func(c *client, ch systems.Channel, m []byte)
}

// record is one frame of the server.
type record struct {
	text  []byte // inputs and orders
	ops   int    // changes of input, and orders
	bits  int    // the least that its code takes
	sum   image.Checksum
	ended time.Duration
	in    []ecs.InputBytes
	order []string
}

// client is a client with its measurements.
type client struct {
	systems.Client
	peer  *halves.Peer
	rig   *rig
	play  func(c *client, frame int) pad
	loads int // of the peer, when announced and live were reset

	announced ecs.Tick // newest S that reached it
	pad       pad
	ran       map[ecs.Tick]time.Duration
	live      time.Duration // when it was first live since it loaded; 0: not yet
	lags      []lag
	stalls    []stall
	due       int // ticks that were due while live
	lost      int // of them, those that could not be computed
	checked   int // states compared
	spoil     func(w *ecs.World)
	pressed   [256]time.Duration // when its Held became that; 0: it is shown
	display   []time.Duration    // from such a change to the frame that has it
	before    ecs.Tick           // its tick before the frame
	stalled   uint64             // Stats().Stalls before the frame

	onHear  func(ch systems.Channel, m []byte)
	onFrame func()
}

// lag is the time from the end of a frame on the server to its execution.
type lag struct{ at, lag time.Duration }

// stall is a time in which a client could not execute frame c + 1.
type stall struct {
	c            ecs.Tick
	since, until time.Duration
	ticks        int // of its grid
	why          systems.StallReason
}

// The kinds of the strategy's messages, as the wire standard has them.
const (
	kindOps     = 1
	kindSync    = 2
	kindStamped = 3
	kindHash    = 4
	kindResult  = 5
)

// newRig starts a server whose frame f ends at f/TickRate.
func newRig(t testing.TB, game *ecs.Game, config lockstep.Config, seed uint64) *rig {
	r := &rig{config: config, truth: newWorld(t, game, seed), frames: make([]record, 1)}
	r.Match = halves.New(t, halves.Config{Game: game, Strategy: lockstep.New(config), Seed: seed})
	r.OnTick = r.took
	r.OnUp = func(p *halves.Peer, ch systems.Channel, m []byte) {
		if r.onUp != nil {
			r.onUp(r.clients[p.ID], ch, m)
		}
	}
	r.OnDown = func(p *halves.Peer, ch systems.Channel, m []byte) {
		if ch == systems.Datagram && r.config.Reliable {
			t.Errorf("a datagram of %d bytes", len(m))
		}
		if s, _, ok := readSync(m); ok {
			if s > r.Server.Done() {
				t.Fatalf("S = %d was sent in frame %d", s, r.Server.Done())
			}
			r.promised = max(r.promised, s)
		}
		if r.onSend != nil {
			r.onSend(r.clients[p.ID], ch, m)
		}
	}
	return r
}

// took checks that no frame becomes final after it was promised.
func (r *rig) took(f systems.FinalTick) {
	if f.Tick <= r.promised {
		r.T.Fatalf("frame %d is final, and S = %d was sent", f.Tick, r.promised)
	}
	rec := record{text: describe(nil, &f), in: slices.Clone(f.Inputs), ended: r.Net.Now()}
	for _, o := range f.Orders {
		if o.Kind == image.OrderGame {
			rec.order = append(rec.order, string(o.Payload))
		}
	}
	rec.ops, rec.bits = r.code(&f)
	r.truth.Step(ecs.TickInputs{Players: f.Inputs, Orders: f.Orders})
	rec.sum = checksum(r.truth)
	if f.State != nil && f.State.Checksum() != rec.sum {
		r.T.Fatalf("frame %d: the server's state differs from its inputs and orders", f.Tick)
	}
	r.frames = append(r.frames, rec)
}

// code returns the number of operations in a frame and the fewest bits that they take. A frame takes one bit. With
// operations it takes a bit per player, a byte and a bit per changed byte, and the orders.
func (r *rig) code(f *systems.FinalTick) (ops, bits int) {
	bits = 1
	last := make([]ecs.InputBytes, r.Game.MaxPlayers)
	copy(last, r.frames[len(r.frames)-1].in)
	changes := 0
	for p := range f.Inputs {
		if expected := r.Game.Input.Predict(last[p]); expected != f.Inputs[p] {
			ops++
			changes += r.Game.Input.Size()
			for i := range r.Game.Input.Size() {
				if expected[i] != f.Inputs[p][i] {
					changes += 8
				}
			}
		}
	}
	for i := range f.Orders {
		ops++
		if changes += 8; f.Orders[i].Kind == image.OrderGame {
			changes += 32 + 4 + 11 + 8*len(f.Orders[i].Payload)
		}
	}
	if len(f.Orders) > 0 {
		changes += 6
	}
	if ops > 0 {
		bits += 2 + r.Game.MaxPlayers + changes
	}
	return ops, bits
}

func describe(dst []byte, f *systems.FinalTick) []byte {
	for _, in := range f.Inputs {
		dst = append(dst, in[:]...)
	}
	for _, o := range f.Orders {
		dst = append(dst, byte(o.Kind), byte(o.Player), byte(o.Entity.Row), byte(len(o.Payload)))
		dst = append(dst, o.Payload...)
	}
	return dst
}

func checksum(w *ecs.World) image.Checksum {
	var s image.Snapshot
	w.Image().Save(&s)
	defer s.Release()
	return s.Checksum()
}

// syncHead is the head of a sync, as the wire standard has it.
type syncHead struct {
	first, last ecs.Tick // the frames in it
	s           ecs.Tick // as far as it promises
	interval    int
}

func headOf(m []byte) (h syncHead, ok bool) {
	r := wire.NewReader(m)
	if r.U8() != kindSync {
		return h, false
	}
	h.first = ecs.Tick(r.U32())
	h.last = h.first + ecs.Tick(r.Count(1<<17, 0)) - 1
	h.s = h.last + ecs.Tick(r.Uvarint())
	h.interval = int(r.U8())
	return h, r.Err() == nil
}

// readSync returns the S that a sync promises and its first frame.
func readSync(m []byte) (s, first ecs.Tick, ok bool) {
	h, ok := headOf(m)
	return h.s, h.first, ok
}

// options describe a client. Its display runs at hz, 0 for the tick rate, from epoch on its clock.
type options struct {
	path  simnet.Profile
	clock simnet.Clock
	seat  int
	hz    int
	epoch time.Duration
	play  func(c *client, frame int) pad
	game  *ecs.Game // nil: the server's
}

// add adds a client without a state.
func (r *rig) add(o options) *client {
	c := &client{rig: r, play: o.play, ran: map[ecs.Tick]time.Duration{}}
	c.peer = r.Add(halves.Plan{Path: o.path, Clock: o.clock, Hz: o.hz, Phase: o.epoch, Game: o.game,
		Config: systems.ClientConfig{Seat: o.seat, Taken: c.executed}, Input: c.input, Receive: c.receive, Display: c.frame})
	c.Client = c.peer.Half
	r.clients = append(r.clients, c)
	return c
}

// seated adds a client that has State(0) at time 0, when its peer is open.
func (r *rig) seated(o options) *client {
	c := r.add(o)
	c.load(imageOf(r.Server.World()))
	c.peer.OpenNow(c.peer.World.Tick())
	return c
}

// joins adds a client that is sent an image.
func (r *rig) joins(o options) *client {
	c := r.add(o)
	c.peer.SendImage(0)
	return c
}

// load makes the client take over an image.
func (c *client) load(encoded []byte) {
	c.peer.Take(encoded)
	c.peer.Off = false
	c.peer.Load(c.rig.Server.Done())
}

// restart replaces the client's process by one without a state.
func (c *client) restart() {
	c.peer.Restart()
	c.Client = c.peer.Half
}

// loaded resets the measurements after a Load.
func (c *client) loaded() {
	if c.loads != c.peer.Loads {
		c.loads, c.live, c.announced = c.peer.Loads, 0, c.peer.World.Tick()
	}
}

func (c *client) receive(ch systems.Channel, m []byte, now time.Duration) error {
	c.loaded()
	if s, _, ok := readSync(m); ok {
		c.announced = max(c.announced, s)
	}
	err := c.Receive(ch, m, now)
	if c.onHear != nil {
		c.onHear(ch, m)
	}
	return err
}

// executed checks a frame of the client: c ≤ S, its inputs and orders are the server's, and so is its state.
func (c *client) executed(f systems.FinalTick) {
	r := c.rig
	if f.Tick > c.announced || f.Tick > r.promised || int(f.Tick) >= len(r.frames) {
		r.T.Fatalf("client %d executes frame %d: it received S = %d, S = %d was sent, %d frames have ended", c.peer.ID, f.Tick, c.announced, r.promised, len(r.frames)-1)
	}
	want := &r.frames[f.Tick]
	if got := describe(nil, &f); !bytes.Equal(got, want.text) {
		r.T.Fatalf("client %d, frame %d: %x, the server has %x", c.peer.ID, f.Tick, got, want.text)
	}
	if !c.peer.Faulty {
		if sum := checksum(c.peer.World); sum != want.sum {
			r.T.Fatalf("client %d, frame %d: checksum %x, should be %x", c.peer.ID, f.Tick, sum, want.sum)
		}
		c.checked++
	}
	now := r.Net.Now()
	c.ran[f.Tick] = now
	if c.Live() {
		c.lags = append(c.lags, lag{now, now - want.ended})
	}
	if seat := c.peer.Config.Seat; seat >= 0 {
		if p := &c.pressed[padInput.Unpack(f.Inputs[seat]).Held]; *p != 0 {
			c.display = append(c.display, now-*p)
			*p = 0
		}
	}
	if c.spoil != nil {
		c.spoil(c.peer.World)
	}
}

func (c *client) input(frame int) ecs.InputBytes {
	if c.play != nil {
		in := c.play(c, frame)
		if in.Held != c.pad.Held && c.Live() {
			c.pressed[in.Held] = c.rig.Net.Now()
		}
		c.pad = in
	}
	return padInput.Pack(c.pad)
}

func (c *client) frame(now time.Duration) {
	c.loaded()
	c.before, c.stalled = c.peer.World.Tick(), c.Stats().Stalls
	c.peer.Frame(now)
	c.countStalls()
	if c.Live() && c.live == 0 {
		c.live = c.rig.Net.Now()
	}
	if c.Stats().Present > c.announced {
		c.rig.T.Fatalf("client %d: c = %d, S = %d", c.peer.ID, c.Stats().Present, c.announced)
	}
	if c.onFrame != nil {
		c.onFrame()
	}
}

func (c *client) countStalls() {
	s := c.Stats()
	lost := int(s.Stalls - c.stalled)
	if c.Live() {
		c.due += int(s.Present-c.before) + lost
		c.lost += lost
	}
	n := len(c.stalls)
	open := n > 0 && c.stalls[n-1].until == 0
	if open && s.Present > c.stalls[n-1].c {
		c.stalls[n-1].until, open = c.rig.Net.Now(), false
	}
	switch {
	case lost > 0 && open:
		c.stalls[n-1].ticks += lost
	case lost > 0:
		c.stalls = append(c.stalls, stall{c: s.Present, since: c.rig.Net.Now(), ticks: lost, why: s.Stalled})
	}
}

// forget restarts the measurement of stalls, lag and display.
func (c *client) forget() {
	c.lags, c.stalls, c.display, c.due, c.lost = c.lags[:0], c.stalls[:0], c.display[:0], 0, 0
}

// stallShare returns the share of ticks that were due and could not be computed, in percent.
func (c *client) stallShare() float64 { return 100 * float64(c.lost) / float64(max(c.due, 1)) }

// notUnderRace skips a run of many frames: the halves start no goroutine, and one run of each kind shows that.
func notUnderRace(t *testing.T) {
	if race.Enabled {
		t.Skip("the same figures, slowly")
	}
}

// at is when the server ends a frame, if it never waits.
func at(f ecs.Tick) time.Duration { return systems.TickTime(0, f, 60) }

// wantSound fails the test unless states were compared, kept changing, and no client was found to differ.
func (r *rig) wantSound(least int) {
	r.T.Helper()
	ops := 0
	sums := map[image.Checksum]bool{}
	for _, f := range r.frames[1:] {
		ops += f.ops
		sums[f.sum] = true
	}
	if ops < len(r.frames)/30 || len(sums) < len(r.frames)-1 {
		r.T.Errorf("the run proves nothing: %d operations and %d checksums in %d frames", ops, len(sums), len(r.frames)-1)
	}
	for _, c := range r.clients {
		if c.checked < least {
			r.T.Errorf("client %d: only %d states compared", c.peer.ID, c.checked)
		}
		if len(c.peer.Flagged) > 0 {
			r.T.Errorf("client %d was found to differ at %v", c.peer.ID, c.peer.Flagged)
		}
	}
	if w := r.Server.World(); w.Tick() == ecs.Tick(len(r.frames)-1) && checksum(w) != r.frames[w.Tick()].sum {
		r.T.Errorf("frame %d: the server's state differs from its inputs and orders", w.Tick())
	}
}

// link is a connection without jitter.
func link(up, down time.Duration) simnet.Profile {
	return simnet.Profile{Name: "link", Title: "link", Up: simnet.Path{Delay: up}, Down: simnet.Path{Delay: down}}
}

// wander plays at random, by a seed. Held changes three times per second.
func wander(seed uint64) func(*client, int) pad {
	rand := image.NewRand(seed)
	var now pad
	return func(*client, int) pad {
		if rand.Chance(1, 12) {
			now.DX, now.DY = int8(rand.IntN(3)-1), int8(rand.IntN(3)-1)
		}
		if rand.Chance(1, 20) {
			now.Held++
		}
		now.Fire = rand.Chance(1, 15)
		return now
	}
}

// busy makes the client give an order about once per second.
func (c *client) busy(seed uint64) {
	rand := image.NewRand(seed)
	c.peer.Between = func(time.Duration) {
		if c.Live() && rand.Chance(1, 60) {
			payload := []byte{byte(c.peer.Config.Seat), byte(rand.IntN(256)), byte(c.peer.Frames)}
			_ = c.Order(1, ecs.Entity{}, payload, c.peer) // refused while too many are pending
		}
	}
}

// four joins four players who wander and give orders, with clocks of their own and displays at four phases of a tick.
func (r *rig) four(path simnet.Profile, seed uint64) {
	for s := range 4 {
		c := r.joins(options{path: path, seat: s, epoch: time.Duration(s) * time.Second / 240, play: wander(seed*16 + uint64(s)), clock: simnet.Clock{Offset: time.Duration(s) * time.Second, DriftPPM: int64(40*s - 60)}})
		c.busy(seed*16 + uint64(s))
	}
}

// percentile returns the value that a share q of all do not exceed.
func percentile(values []time.Duration, q float64) time.Duration {
	if len(values) == 0 {
		return -1
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted[min(int(float64(len(sorted))*q), len(sorted)-1)]
}

func (c *client) lagValues() (values []time.Duration) {
	for _, l := range c.lags {
		values = append(values, l.lag)
	}
	return values
}

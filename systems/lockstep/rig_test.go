package lockstep_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/simnet"
	"tendon/net/wire"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/lockstep"
)

const ms = time.Millisecond

// The game of the acceptance tests: every operation leaves a trace in the state, in which its order shows.
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
	chronicle struct {
		Sum, Noise uint64
		Orders     uint32
		Fires      uint32
	}
)

var (
	padInput   = ecs.NewInput[pad]()
	walkerComp = ecs.NewComponent[walker]("walker")
	holderComp = ecs.NewComponent[ecs.Seat]("holder")
	story      = ecs.NewResource[chronicle]("story")
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

// newGame returns a game that has a result in the tick end, 0: never.
func newGame(end ecs.Tick) *ecs.Game {
	g := &ecs.Game{Name: "walkers", TickRate: 60, MaxPlayers: 4, Input: padInput,
		Components: ecs.Components(walkerComp, holderComp), Resources: ecs.Resources(story), Systems: ecs.Systems(walk),
		Join: func(w *ecs.World, p ecs.Player) {
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
		Order: func(w *ecs.World, p ecs.Player, _ ecs.Entity, payload []byte) {
			s := story.Write(w)
			s.Orders++
			for _, b := range payload {
				s.Sum = s.Sum*1099511628211 + uint64(p)<<8 + uint64(b)
			}
		},
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

// rig plays a server and clients against each other over the message floor, with just as much of a session as they rely
// on: images are handed over, a client that has loaded one says so, which opens its peer, and messages carry the number
// of the run that they belong to; those of another are dropped. Everything a half does is held to the invariants of the
// strategy as it happens: see took, executed and heard.
type rig struct {
	t        testing.TB
	net      *simnet.Network
	game     *ecs.Game
	config   lockstep.Config
	strategy systems.Strategy
	server   systems.FullServer
	node     simnet.NodeID
	clients  []*client
	carried  bool       // what the strategy gives as a datagram is carried reliably
	truth    *ecs.World // computed from what the server took
	frames   []record   // by tick
	promised ecs.Tick   // newest S that was sent
	members  image.PlayerSet
	decided  []systems.Decision
	holds    int  // times that the server waited
	hostile  bool // messages may be refused
	refused  int
	onUp     func(c *client, ch systems.Channel, m []byte) // a message has reached the server
	onSend   func(c *client, ch systems.Channel, m []byte) // the server sends
}

// record is one frame of the server.
type record struct {
	text  []byte // what entered it
	ops   int    // changes of input and orders in it
	bits  int    // what its code takes at least
	sum   image.Checksum
	ended simnet.Time
	in    []ecs.InputBytes
	order []string
}

// client is a client and what was seen of it.
type client struct {
	systems.Client
	rig    *rig
	id     systems.Peer
	seat   int
	node   simnet.NodeID
	path   simnet.Profile
	world  *ecs.World
	play   func(c *client, frame int) pad
	on     bool // its process runs
	run    byte // of its session
	served byte // the run that the server serves; 0: none

	frames  int      // Frames of its display
	heardOf ecs.Tick // newest S that reached it
	pad     pad
	ran     map[ecs.Tick]simnet.Time
	live    simnet.Time // when it was first live since it loaded; 0: not yet
	lags    []lag
	stalls  []stall
	due     int // ticks that were due while live
	lost    int // of them, those that could not be computed
	checked int // states compared
	faulty  bool
	spoil   func(w *ecs.World) // called after every frame it executes
	flagged []simnet.Time      // when the server found its state to differ
	out     bool               // it was removed
	differs []image.Difference // found when it was put right
	down    int                // bytes that the server sent
	pressed [256]simnet.Time   // when its Held became that; 0: it is shown
	display []simnet.Time      // from such a change to the frame that has it

	onHear  func(ch systems.Channel, m []byte)
	before  func(now systems.Time) // before Frame
	after   func(now systems.Time) // between Frame and Send
	onFrame func()                 // after both
}

// lag says how long after the server ended a frame a client executed it.
type lag struct {
	at, lag simnet.Time
}

// stall is a time in which a client could not execute frame c + 1: so many ticks of its grid.
type stall struct {
	c            ecs.Tick
	since, until simnet.Time
	ticks        int
	why          systems.StallReason
}

type outbox func(to systems.Peer, ch systems.Channel, m []byte)

func (o outbox) Send(to systems.Peer, ch systems.Channel, m []byte) { o(to, ch, m) }

// The kinds of the strategy's messages, as the wire standard has them, and the rig's own.
const (
	kindOps     = 1
	kindSync    = 2
	kindStamped = 3
	kindHash    = 4
	kindResult  = 5
	kindReady   = 255
)

func newWorld(t testing.TB, game *ecs.Game, seed uint64) *ecs.World {
	t.Helper()
	w, err := ecs.NewWorld(game, seed)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// newRig starts a server whose frame f ends at f/TickRate.
func newRig(t testing.TB, game *ecs.Game, config lockstep.Config, seed uint64) *rig {
	r := &rig{t: t, net: simnet.New(simnet.Config{Seed: seed, ReliableQueue: 1 << 16}), game: game, config: config, strategy: lockstep.New(config),
		truth: newWorld(t, game, seed), frames: make([]record, 1)}
	half, err := r.strategy.NewServer(systems.ServerConfig{World: newWorld(t, game, seed), Peers: 8, Taken: r.took, Decided: func(d systems.Decision) {
		d.Result, d.Votes = slices.Clone(d.Result), slices.Clone(d.Votes)
		r.decided = append(r.decided, d)
	}})
	if err != nil {
		t.Fatal(err)
	}
	r.server = systems.Full(half)
	r.node = r.net.AddNode(simnet.Clock{})
	r.net.OnMessage(r.node, r.receive)
	r.net.Every(r.node, 0, game.TickRate, func(k int64, now simnet.Time) {
		if k > 0 {
			r.serve(systems.Time(now))
		}
	})
	return r
}

func (r *rig) serve(now systems.Time) {
	if r.server.Hold(now) {
		r.holds++
		r.server.Send(now, r.toClients())
		return
	}
	r.server.Tick(now)
	r.server.Desynced(r.desynced)
	r.server.Send(now, r.toClients())
}

func (r *rig) toClients() systems.Outbox {
	return outbox(func(to systems.Peer, ch systems.Channel, m []byte) {
		c := r.clients[to]
		if s, _, ok := readSync(m); ok {
			if s > r.server.Done() {
				r.t.Fatalf("S = %d was sent in frame %d", s, r.server.Done())
			}
			r.promised = max(r.promised, s)
		}
		if r.onSend != nil {
			r.onSend(c, ch, m)
		}
		c.down += len(m)
		r.send(r.node, c.node, ch, c.served, m)
	})
}

func (r *rig) send(from, to simnet.NodeID, ch systems.Channel, run byte, m []byte) {
	if ch == systems.Datagram && (r.config.Reliable || len(m) > systems.MaxDatagram) {
		r.t.Errorf("a datagram of %d bytes", len(m))
	}
	floor := simnet.Channel(ch)
	if r.carried {
		floor = simnet.Reliable
	}
	if err := r.net.Send(from, to, floor, append([]byte{run}, m...)); err != nil {
		r.t.Errorf("at %v: node %d sends to node %d: %v", r.net.Now(), from, to, err)
	}
}

func (r *rig) receive(from simnet.NodeID, ch simnet.Channel, payload []byte, now simnet.Time) {
	c := r.clients[from-1]
	run, m := payload[0], payload[1:]
	if len(m) > 0 && m[0] == kindReady {
		r.open(c, run, ecs.Tick(binary.LittleEndian.Uint64(m[1:])))
		return
	}
	if run != c.served || run == 0 {
		return
	}
	if r.onUp != nil {
		r.onUp(c, systems.Channel(ch), m)
	}
	r.note(r.server.Receive(c.id, systems.Channel(ch), m, systems.Time(now), r.toClients()))
}

func (r *rig) note(err error) {
	if err == nil {
		return
	}
	if r.refused++; !r.hostile {
		r.t.Errorf("at %v: a message was refused: %v", r.net.Now(), err)
	}
}

// open serves a client that holds the state of a tick. A player who is not in the match enters it.
func (r *rig) open(c *client, run byte, have ecs.Tick) {
	if have < r.server.OldestServable() {
		r.hand(c, 0)
		return
	}
	c.served = run
	r.server.Open(c.id, c.seat, have, systems.Time(r.net.Now()), r.toClients())
	if p := ecs.Player(c.seat); c.seat >= 0 && !r.members.Has(p) {
		r.members |= 1 << p
		r.server.Stamp(image.Order{Kind: image.OrderJoin, Player: p}, r.toClients())
	}
}

// took holds the server to: nothing enters a frame that was promised.
func (r *rig) took(f systems.FinalTick) {
	if int(f.Tick) != len(r.frames) || f.Tick <= r.promised {
		r.t.Fatalf("frame %d is final after frame %d, and S = %d was sent", f.Tick, len(r.frames)-1, r.promised)
	}
	rec := record{text: describe(nil, &f), in: slices.Clone(f.Inputs), ended: r.net.Now()}
	for _, o := range f.Orders {
		if o.Kind == image.OrderGame {
			rec.order = append(rec.order, string(o.Payload))
		}
	}
	rec.ops, rec.bits = r.code(&f)
	r.truth.Step(ecs.TickInputs{Players: f.Inputs, Orders: f.Orders})
	rec.sum = checksum(r.truth)
	if f.State != nil && f.State.Checksum() != rec.sum {
		r.t.Fatalf("frame %d: the server's state differs from what it took", f.Tick)
	}
	r.frames = append(r.frames, rec)
}

// code returns how many operations a frame holds, and the bits that those take at least: for each frame one, for each
// that has operations one per player, a byte and a bit of each byte that changed, and the orders.
func (r *rig) code(f *systems.FinalTick) (ops, bits int) {
	bits = 1
	last := make([]ecs.InputBytes, r.game.MaxPlayers)
	copy(last, r.frames[len(r.frames)-1].in)
	changes := 0
	for p := range f.Inputs {
		if expected := r.game.Input.Predict(last[p]); expected != f.Inputs[p] {
			ops++
			changes += r.game.Input.Size()
			for i := range r.game.Input.Size() {
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
		bits += 2 + r.game.MaxPlayers + changes
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

// syncHead is what a sync says before its frames, as the wire standard has it.
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

// options say how a client takes part. Its display runs at hz, 0: the tick rate, from epoch on its clock.
type options struct {
	path  simnet.Profile
	clock simnet.Clock
	seat  int
	hz    int
	epoch simnet.Time
	play  func(c *client, frame int) pad
	game  *ecs.Game // nil: the server's
}

// add makes a client that holds nothing yet.
func (r *rig) add(o options) *client {
	c := &client{rig: r, id: systems.Peer(len(r.clients)), seat: o.seat, path: o.path, play: o.play, ran: map[ecs.Tick]simnet.Time{}}
	c.node = r.net.AddNode(o.clock)
	r.clients = append(r.clients, c)
	if o.game == nil {
		o.game = r.game
	}
	c.make(o.game)
	if err := r.net.Connect(c.node, r.node, o.path); err != nil {
		r.t.Fatal(err)
	}
	r.net.OnMessage(c.node, func(_ simnet.NodeID, ch simnet.Channel, payload []byte, now simnet.Time) {
		if run, m := payload[0], payload[1:]; run == c.run && c.run != 0 {
			c.hear(systems.Channel(ch), m, systems.Time(now))
		}
	})
	if o.hz == 0 {
		o.hz = r.game.TickRate
	}
	r.net.Every(c.node, o.epoch, o.hz, func(_ int64, now simnet.Time) { c.frame(systems.Time(now)) })
	return c
}

// make starts the client's process: its half and its world are new.
func (c *client) make(game *ecs.Game) {
	c.world = newWorld(c.rig.t, game, 99)
	half, err := c.rig.strategy.NewClient(systems.ClientConfig{World: c.world, Seat: c.seat, Params: c.rig.strategy.Params, Taken: c.executed})
	if err != nil {
		c.rig.t.Fatal(err)
	}
	c.Client = half
}

// seated adds a client that holds State(0) at time 0, when its peer is open.
func (r *rig) seated(o options) *client {
	c := r.add(o)
	c.load(r.image())
	r.open(c, c.run, c.world.Tick())
	return c
}

// joins adds a client that is handed an image from now on.
func (r *rig) joins(o options) *client {
	c := r.add(o)
	r.hand(c, 0)
	return c
}

func (r *rig) image() []byte {
	var s image.Snapshot
	r.server.World().Image().Save(&s)
	defer s.Release()
	return s.AppendImage(nil)
}

// hand gives a client an image of the server's world after the way down and more.
func (r *rig) hand(c *client, more time.Duration) {
	encoded := r.image()
	r.net.At(r.net.Now()+c.path.Down.Delay+more, func() {
		if c.run > 0 {
			if d, ok := new(rollback.Comparison).With(r.game, encoded, c.Client.(systems.Keeper).Kept); ok {
				c.differs = append(c.differs, d)
			}
		}
		c.load(encoded)
		c.ready()
	})
}

// load takes an image over; nil: the client goes on with what it has.
func (c *client) load(encoded []byte) {
	if encoded != nil {
		if err := c.world.Image().Load(encoded); err != nil {
			c.rig.t.Fatal(err)
		}
		c.faulty = false
	}
	c.Load(systems.Time(c.rig.net.LocalNow(c.node)), c.rig.server.Done(), systems.Time(c.path.Up.Delay+c.path.Down.Delay))
	c.run++
	c.on, c.live, c.heardOf = true, 0, c.world.Tick()
}

// ready tells the server what the client holds.
func (c *client) ready() {
	m := binary.LittleEndian.AppendUint64([]byte{kindReady}, uint64(c.world.Tick()))
	if err := c.rig.net.Send(c.node, c.rig.node, simnet.Reliable, append([]byte{c.run}, m...)); err != nil {
		c.rig.t.Error(err)
	}
}

// drop ends a client's connection at once, on both ends. Its process lives on and computes what it holds.
func (r *rig) drop(c *client) {
	r.server.Close(c.id)
	c.served = 0
	r.net.Reconnect(c.node, r.node)
}

// returns lets a client whose connection has ended go on with what it holds: a warm reconnect.
func (c *client) returns() {
	c.load(nil)
	c.ready()
}

func (r *rig) desynced(id systems.Peer) {
	c := r.clients[id]
	c.flagged = append(c.flagged, r.net.Now())
	if r.server.PeerStats(id).Expelled {
		c.out, c.on = true, false
		r.members &^= 1 << c.seat
		r.server.Stamp(image.Order{Kind: image.OrderLeave, Player: ecs.Player(c.seat)}, r.toClients())
		r.drop(c)
		return
	}
	r.hand(c, 100*ms) // an image is not one datagram
}

func (c *client) hear(ch systems.Channel, m []byte, now systems.Time) {
	if s, _, ok := readSync(m); ok {
		c.heardOf = max(c.heardOf, s)
	}
	c.rig.note(c.Receive(ch, m, now))
	if c.onHear != nil {
		c.onHear(ch, m)
	}
}

// executed holds the client to: c ≤ S, what enters a frame is what the server took, and so is the state.
func (c *client) executed(f systems.FinalTick) {
	r := c.rig
	if f.Tick > c.heardOf || f.Tick > r.promised || int(f.Tick) >= len(r.frames) {
		r.t.Fatalf("client %d executes frame %d: it heard of S = %d, S = %d was sent, %d frames have ended", c.id, f.Tick, c.heardOf, r.promised, len(r.frames)-1)
	}
	want := &r.frames[f.Tick]
	if got := describe(nil, &f); !bytes.Equal(got, want.text) {
		r.t.Fatalf("client %d, frame %d: %x enters it, the server took %x", c.id, f.Tick, got, want.text)
	}
	if !c.faulty {
		if sum := checksum(c.world); sum != want.sum {
			r.t.Fatalf("client %d, frame %d: checksum %x, should be %x", c.id, f.Tick, sum, want.sum)
		}
		c.checked++
	}
	c.ran[f.Tick] = r.net.Now()
	if c.Live() {
		c.lags = append(c.lags, lag{r.net.Now(), r.net.Now() - want.ended})
	}
	if c.seat >= 0 {
		if p := &c.pressed[padInput.Unpack(f.Inputs[c.seat]).Held]; *p != 0 {
			c.display = append(c.display, r.net.Now()-*p)
			*p = 0
		}
	}
	if c.spoil != nil {
		c.spoil(c.world)
	}
}

// frame is one Frame of the client's display.
func (c *client) frame(now systems.Time) {
	if !c.on {
		return
	}
	if c.play != nil {
		in := c.play(c, c.frames)
		if in.Held != c.pad.Held && c.Live() {
			c.pressed[in.Held] = c.rig.net.Now()
		}
		c.pad = in
		c.SetInput(padInput.Pack(in))
	}
	c.frames++
	if c.before != nil {
		c.before(now)
	}
	at, was := c.world.Tick(), c.Stats()
	c.Frame(now)
	c.watch(at, was.Stalls)
	if c.Live() && c.live == 0 {
		c.live = c.rig.net.Now()
	}
	if c.after != nil {
		c.after(now)
	}
	c.Send(now, c.toServer())
	if c.Stats().Present > c.heardOf {
		c.rig.t.Fatalf("client %d: c = %d, S = %d", c.id, c.Stats().Present, c.heardOf)
	}
	if c.onFrame != nil {
		c.onFrame()
	}
}

func (c *client) toServer() systems.Outbox {
	return outbox(func(_ systems.Peer, ch systems.Channel, m []byte) { c.rig.send(c.node, c.rig.node, ch, c.run, m) })
}

// watch notes stalls.
func (c *client) watch(at ecs.Tick, stalls uint64) {
	s := c.Stats()
	lost := int(s.Stalls - stalls)
	if c.Live() {
		c.due += int(s.Present-at) + lost
		c.lost += lost
	}
	n := len(c.stalls)
	open := n > 0 && c.stalls[n-1].until == 0
	if open && s.Present > c.stalls[n-1].c {
		c.stalls[n-1].until, open = c.rig.net.Now(), false
	}
	switch {
	case lost > 0 && open:
		c.stalls[n-1].ticks += lost
	case lost > 0:
		c.stalls = append(c.stalls, stall{c: s.Present, since: c.rig.net.Now(), ticks: lost, why: s.Stalled})
	}
}

// forget begins to measure stalls, lag and display anew.
func (c *client) forget() {
	c.lags, c.stalls, c.display, c.due, c.lost = c.lags[:0], c.stalls[:0], c.display[:0], 0, 0
}

// stalled returns the share of ticks that were due and could not be computed, in percent.
func (c *client) stalled() float64 { return 100 * float64(c.lost) / float64(max(c.due, 1)) }

// notUnderRace skips a run of many frames: the halves start no goroutine, and one run of each kind says so.
func notUnderRace(t *testing.T) {
	if lockstep.RaceDetector {
		t.Skip("the same figures, slowly")
	}
}

// at is when the server ends a frame, if it never waits.
func at(f ecs.Tick) simnet.Time { return simnet.Time(systems.TickTime(0, f, 60)) }

func (r *rig) until(t simnet.Time) { r.net.RunUntil(t) }

// sound asserts that a run proves something: states were compared, they kept changing, and nobody was wronged.
func (r *rig) sound(least int) {
	r.t.Helper()
	ops := 0
	sums := map[image.Checksum]bool{}
	for _, f := range r.frames[1:] {
		ops += f.ops
		sums[f.sum] = true
	}
	if ops < len(r.frames)/30 || len(sums) < len(r.frames)-1 {
		r.t.Errorf("the run proves nothing: %d operations and %d checksums in %d frames", ops, len(sums), len(r.frames)-1)
	}
	for _, c := range r.clients {
		if c.checked < least {
			r.t.Errorf("client %d: only %d states compared", c.id, c.checked)
		}
		if len(c.flagged) > 0 {
			r.t.Errorf("client %d was found to differ at %v", c.id, c.flagged)
		}
	}
	if w := r.server.World(); w.Tick() == ecs.Tick(len(r.frames)-1) && checksum(w) != r.frames[w.Tick()].sum {
		r.t.Errorf("frame %d: the server's state is not the truth", w.Tick())
	}
}

// link is a connection without jitter.
func link(up, down time.Duration) simnet.Profile {
	return simnet.Profile{Name: "link", Title: "link", Up: simnet.Path{Delay: up}, Down: simnet.Path{Delay: down}}
}

func profile(t testing.TB, name string) simnet.Profile {
	t.Helper()
	p, ok := simnet.ByName(name)
	if !ok {
		t.Fatalf("no profile %s", name)
	}
	return p
}

// wander presses at random but the same for a seed; Held counts up three times a second.
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

// busy is wander with orders: about one a second.
func (c *client) busy(seed uint64) {
	rand := image.NewRand(seed)
	c.after = func(systems.Time) {
		if c.Live() && rand.Chance(1, 60) {
			payload := []byte{byte(c.seat), byte(rand.IntN(256)), byte(c.frames)}
			_ = c.Order(ecs.Entity{}, payload, c.toServer()) // refused while too many wait for the server's word
		}
	}
}

// four joins four who wander and give orders, with clocks of their own and displays at four phases of a tick.
func (r *rig) four(path simnet.Profile, seed uint64) {
	for s := range 4 {
		c := r.joins(options{path: path, seat: s, epoch: simnet.Time(s) * time.Second / 240, play: wander(seed*16 + uint64(s)), clock: simnet.Clock{Offset: time.Duration(s) * time.Second, DriftPPM: int64(40*s - 60)}})
		c.busy(seed*16 + uint64(s))
	}
}

// percentile returns the value that a share q of all are not above.
func percentile(values []simnet.Time, q float64) simnet.Time {
	if len(values) == 0 {
		return -1
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted[min(int(float64(len(sorted))*q), len(sorted)-1)]
}

func (c *client) lagValues() (values []simnet.Time) {
	for _, l := range c.lags {
		values = append(values, l.lag)
	}
	return values
}

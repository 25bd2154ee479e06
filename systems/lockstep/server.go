package lockstep

import (
	"fmt"

	"github.com/cespare/xxhash/v2"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/internal/checks"
)

// Server is lockstep's half on the server. The frames (log.first − 1, done] are in the log and final; of them, those
// ≤ sync were promised to the peers. running is frame done + 1, into which operations are stamped as they come. The
// world is in State(done), or of an earlier frame where nobody asked for more.
type Server struct {
	config   Config
	room     systems.ServerConfig
	world    *ecs.World
	game     *ecs.Game
	always   bool // the world is computed as frames end
	log      *log
	running  frame
	before   []ecs.InputBytes // of frame done
	seats    []seat
	members  ecs.PlayerSet // who is in the match after frame done
	orders   rollback.OrderLog
	last     placed // the last order that was stamped
	stirred  bool   // there were operations in frame done
	relayed  int    // operations of the running frame that went by themselves
	peers    []peer
	shorts   [redundant]short
	large    []ecs.Tick // frames whose operations have to go by themselves
	interval interval
	done     ecs.Tick
	sync     ecs.Tick
	released ecs.Tick // sync when Send was called last: what is beyond may not be durable yet
	held     bool     // Hold said that frame done + 1 has to wait
	since    systems.Time
	now      systems.Time // of the last call that told it
	court    court
	behind   cursor // what the world was computed from last, if not always
	reader   cursor // for looking up

	scratch struct {
		message []byte
		code    []byte
		valid   []ecs.InputBytes
		ops     opsMessage
	}
}

// seat is what the server knows of one player's controls.
type seat struct {
	held    ecs.InputBytes // what he did since he has a connection, while he is not in the match
	waiting bool           // held was not used yet
}

// placed says how full the frame is into which the last order was stamped.
type placed struct {
	tick  ecs.Tick
	count int
	bytes int // of payloads
}

// short says how a frame stands in a sync to a peer that was told its operations one by one.
type short struct {
	tick   ecs.Tick
	digest uint32
}

// redundant is the most frames that a datagram repeats: as many as may be on the way at two seconds of round trip and
// 60 frames a second, twice. A peer further behind is sent the rest over the reliable channel.
const redundant = 256

// checkEvery is the interval of checksum comparisons, in frames.
const checkEvery = 60

var _ systems.Server = (*Server)(nil)

func newServer(c Config, room systems.ServerConfig) (*Server, error) {
	if err := checks.Server("lockstep", &room); err != nil {
		return nil, err
	}
	game := room.World.Game()
	if err := checkGame(game); err != nil {
		return nil, err
	}
	if most := 2 * systems.Second / systems.Time(game.TickRate); c.Wait > most {
		return nil, &FieldError{"Wait", duration(c.Wait), fmt.Sprintf("choose at most two frames' time, which is %s at %d ticks per second", duration(most), game.TickRate)}
	}
	f := room.World.Tick()
	s := &Server{config: c, room: room, world: room.World, game: game, always: c.Simulate == Always || room.States || game.Validate != nil,
		log: newLog(f, game), running: newFrame(game), before: make([]ecs.InputBytes, game.MaxPlayers),
		seats: make([]seat, game.MaxPlayers), members: room.World.Players(), peers: make([]peer, room.Peers),
		interval: interval{n: c.Interval}, done: f, sync: f, behind: cursor{frame: newFrame(game)}}
	s.scratch.valid = make([]ecs.InputBytes, game.MaxPlayers)
	for p := range s.before {
		s.before[p] = s.world.Image().Input(ecs.Player(p))
	}
	s.past()
	s.running.follow(s.before, game)
	copy(s.behind.inputs, s.before)
	s.behind.at = f
	return s, s.court.init(s)
}

// past puts what is known of the frames up to the world's into the log. The first of them tells no more than what the
// next is coded against, unless it is the first of all.
func (s *Server) past() {
	if s.room.Past == nil {
		return
	}
	f := newFrame(s.game)
	inputs := make([]ecs.InputBytes, len(s.before))
	begun := false
	for t := range s.room.Past {
		if !begun && t.Tick != 1 {
			begun = true
			copy(inputs, t.Inputs)
			s.log.reset(t.Tick)
			continue
		}
		if !begun {
			begun = true
			s.log.reset(0)
		}
		if t.Tick != s.log.last+1 {
			panic(fmt.Sprintf("lockstep: ServerConfig.Past yields tick %d after tick %d: it must be without a gap", t.Tick, s.log.last))
		}
		clear(f.inputs)
		copy(f.inputs, t.Inputs)
		f.orders = append(f.orders[:0], t.Orders...)
		s.log.add(&f, inputs)
		copy(inputs, f.inputs)
	}
	if begun && s.log.last != s.done {
		panic(fmt.Sprintf("lockstep: ServerConfig.Past ends with tick %d, the world is at tick %d", s.log.last, s.done))
	}
	if begun {
		copy(s.before, inputs)
	}
}

// World is the match, in the state of frame Done, or an earlier one.
func (s *Server) World() *ecs.World { return s.world }

// Done is the last frame that has ended.
func (s *Server) Done() ecs.Tick { return s.done }

// OldestServable is the oldest frame whose state a peer may hold when it is opened.
func (s *Server) OldestServable() ecs.Tick { return s.log.first - 1 }

// Stamp enters an order into the running frame, or into the next that has room for it. It panics on an order that no
// peer would take.
func (s *Server) Stamp(o image.Order, out systems.Outbox) ecs.Tick {
	if !o.Kind.Shared() || int(o.Player) >= s.game.MaxPlayers || len(o.Payload) > image.MaxOrderBytes || o.Kind != image.OrderGame && len(o.Payload) > 0 {
		panic(fmt.Sprintf("lockstep: Stamp of an order of kind %d for player %d with %d bytes: check what comes from outside first", o.Kind, o.Player, len(o.Payload)))
	}
	if o.Kind != image.OrderGame {
		o.Entity = ecs.Entity{} // nothing of it travels
	}
	next := s.last
	if next.tick <= s.done {
		next = placed{tick: s.done + 1}
	} else if next.count == maxOrders || next.bytes+len(o.Payload) > maxOrderPayload {
		next = placed{tick: next.tick + 1}
	}
	next.count, next.bytes = next.count+1, next.bytes+len(o.Payload)
	s.last = next
	s.orders.Add(next.tick, o)
	if s.config.RelayAtOnce {
		number := next.count - 1
		if next.tick == s.done+1 {
			number = s.relayed
			s.relayed++
		}
		s.relay(&stamped{tick: next.tick, number: number, order: o}, out)
	}
	return next.tick
}

// Hold reports whether the running frame may not end yet, because a player who is connected has not said what he does
// in it.
func (s *Server) Hold(now systems.Time) bool {
	s.now = now
	if s.config.Closing == Optimistic || !s.awaited() {
		s.held = false
		return false
	}
	if !s.held {
		s.held, s.since = true, now
	}
	return s.config.Closing == Waiting || now-s.since < s.config.Wait
}

func (s *Server) awaited() bool {
	for i := range s.peers {
		p := &s.peers[i]
		if p.open && p.live && p.seat >= 0 && s.members.Has(ecs.Player(p.seat)) && p.through <= s.done {
			return true
		}
	}
	return false
}

// Tick ends the running frame.
func (s *Server) Tick(due systems.Time) {
	s.now = max(s.now, due)
	f := &s.running
	f.orders = s.orders.AppendAt(f.orders[:0], s.done+1)
	byDigest := s.config.RelayAtOnce
	for i := range f.orders {
		if s.enter(&f.orders[i]) {
			byDigest = false // the input that he comes with was not relayed
		}
	}
	f.finish()
	s.close(byDigest)
	if s.done-s.sync >= ecs.Tick(s.interval.n) || s.config.Eager && s.stirred {
		s.sync = s.done
	}
	for i := range s.peers {
		s.peers[i].refill(s.game.TickRate)
	}
	if s.config.AdaptInterval {
		s.interval.observe(s.peers, s.game.TickRate)
	}
	s.judge()
}

// enter keeps the set of who is in the match. Who joins plays what he does already; it reports whether he does
// anything.
func (s *Server) enter(o *image.Order) (plays bool) {
	p := o.Player
	switch {
	case o.Kind == image.OrderJoin && !s.members.Has(p):
		s.members |= 1 << p
		if seat := &s.seats[p]; seat.waiting {
			s.running.change(p, seat.held, s.game)
			seat.waiting = false
			return true
		}
	case o.Kind == image.OrderLeave:
		s.members &^= 1 << p
		s.court.hashes.Forget(p)
	}
	return false
}

// Adopt ends the running frame as it is given. The error is that of a frame that Stamp would not have filled so.
func (s *Server) Adopt(t systems.FinalTick) error {
	checks.Adopt("lockstep", t.Tick, s.done)
	if err := stampable(&t); err != nil {
		return err
	}
	clear(s.running.inputs)
	copy(s.running.inputs, t.Inputs)
	for _, o := range t.Orders {
		s.orders.Add(t.Tick, o)
	}
	s.running.orders = s.orders.AppendAt(s.running.orders[:0], t.Tick)
	for i := range s.running.orders {
		if o := &s.running.orders[i]; o.Kind == image.OrderJoin {
			s.members |= 1 << o.Player
		} else if o.Kind == image.OrderLeave {
			s.members &^= 1 << o.Player
		}
	}
	s.last = placed{tick: t.Tick, count: len(t.Orders)}
	s.close(false)
	s.sync = s.done
	return nil
}

// stampable returns what keeps the orders of a frame from being Stamp's: the code of a frame has no room for others.
func stampable(t *systems.FinalTick) error {
	bytes := 0
	for i := range t.Orders {
		o := &t.Orders[i]
		if !o.Kind.Shared() || o.Kind != image.OrderGame && (len(o.Payload) > 0 || o.Entity != ecs.Entity{}) {
			return fmt.Errorf("lockstep: tick %d has an order of kind %d that names an entity or has %d bytes: nothing of it travels", t.Tick, o.Kind, len(o.Payload))
		}
		bytes += len(o.Payload)
	}
	if len(t.Orders) > maxOrders || bytes > maxOrderPayload {
		return fmt.Errorf("lockstep: tick %d has %d orders of %d bytes, at most %d and %d", t.Tick, len(t.Orders), bytes, maxOrders, maxOrderPayload)
	}
	return nil
}

// close ends the running frame, and begins the next. byDigest says that its operations went to everybody already.
func (s *Server) close(byDigest bool) {
	f := &s.running
	s.log.add(f, s.before)
	s.stirred = f.touched != 0 || len(f.orders) > 0
	s.done++
	code, n := s.log.code(s.done)
	if n > 8*largestInline && !s.config.Reliable && !byDigest {
		byDigest = true
		s.large = append(s.large, s.done)
	}
	if byDigest && n > 1 {
		s.shorts[s.done%redundant] = short{s.done, digest(code)}
	}
	s.compute(f)
	copy(s.before, f.inputs)
	f.follow(s.before, s.game)
	f.orders = s.orders.AppendAt(f.orders[:0], s.done+1)
	s.relayed, f.orders = len(f.orders), f.orders[:0]
	s.orders.DropBefore(s.done + 1)
	s.trim()
}

// largestInline is the most bytes that the code of a frame takes in a datagram. What is larger goes by digest.
const largestInline = 512

// digest is what tells whether operations that came by themselves are all of a frame.
func digest(code []byte) uint32 {
	sum := xxhash.Sum64(code)
	return uint32(sum ^ sum>>32)
}

// compute computes the frame that has ended, where the world is kept up, and tells of it.
func (s *Server) compute(f *frame) {
	t := systems.FinalTick{Tick: s.done, Inputs: f.inputs, Orders: f.orders, World: s.world}
	if s.always {
		f.validate(s.world, s.scratch.valid)
		t.Inputs = s.scratch.valid
		s.world.Step(ecs.TickInputs{Players: t.Inputs, Orders: f.orders})
		if s.room.States || s.done%checkEvery == 0 {
			t.State = s.court.ring.Save(s.world)
		}
	}
	s.court.reached(s, t.State)
	if s.room.Taken != nil {
		s.room.Taken(t)
	}
}

// trim bounds the log. A world that is behind has to follow first.
func (s *Server) trim() {
	if s.log.bytes <= s.config.Backlog {
		return
	}
	for range catchingUp {
		if s.world.Tick() < s.done {
			s.advance()
		}
	}
	if oldest := s.log.blocks[0].last(); oldest < s.world.Tick() && len(s.log.blocks) > leastBlocks {
		s.log.dropThrough(oldest)
	}
}

// leastBlocks is what is always kept: all that a datagram may repeat.
const leastBlocks = 1 + redundant/blockFrames + 1

// catchingUp is how many frames the world is computed at once where it is behind.
const catchingUp = 8

// advance computes the next frame of a world that is behind.
func (s *Server) advance() {
	c := &s.behind
	if c.at != s.world.Tick() {
		panic("lockstep: the server's world was changed from outside: it is only to be read")
	}
	c.next(s.log)
	c.validate(s.world, s.scratch.valid)
	s.world.Step(ecs.TickInputs{Players: s.scratch.valid, Orders: c.orders})
	s.court.computed(s, nil)
}

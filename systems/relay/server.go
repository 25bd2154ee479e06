package relay

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/authority"
	"tendon/systems/internal/code"
	"tendon/systems/internal/inputs"
)

// Strategy is rollback with a server relay.
var Strategy = systems.Strategy{
	Name:      "relay",
	Needs:     systems.Needs{Exact: true},
	Predicts:  true,
	NewServer: NewServer,
	NewClient: NewClient,
}

// Server is the relay's half on the server. The input sets of the ticks (Done − backlog, Done] are in codes, and those that
// slower peers need in older. Every open peer has acknowledged a tick after which all are kept and is sent those that follow it,
// or needs an image.
type Server struct {
	authority.Server[*Server, link]
	codes     codes
	older     olderTicks
	before    []code.Course             // by player, up to the last tick that is in codes
	recent    rollback.Ring[recentTick] // the last recentTicks of them
	orders    rollback.OrderLog
	stamped   stampedOrder                  // the last order that was stamped
	requested []image.Order                 // by players, not stamped yet
	checksums rollback.Ring[image.Checksum] // of State(n × checkEvery), by n
	strikes   []int                         // by player, until they leave the match: how often their state differed

	scratch struct {
		orders []image.Order
		input  inputMessage
		lags   []ecs.Tick
	}
}

// link is what the relay adds to a peer.
type link struct {
	sent      ecs.Tick         // where the last confirmation ended, 0 if it reached Done
	confirmed [copies]ecs.Tick // Done at the last confirmations, the newest first
	waits     int              // confirmations since Acked rose last
	repeated  ecs.Tick         // Done when an acknowledgement was overdue
	ownAfter  ecs.Tick         // the peer may have sent other inputs for ticks up to it, before it loaded an image
	moved     ecs.Tick         // Done when Acked rose last
	caughtUp  bool             // Acked was at most backlog/2 ticks behind Done
	ordered   ecs.Tick         // the orders up to it were sent on the reliable channel
	flight    authority.Flight // of orders that were sent in turn, not when they were stamped
	decoder   inputs.WindowDecoder
}

type peer = authority.Peer[link]

var serverSystems = []systems.System[*Server]{
	{Name: "inputs", Kind: kindInput, Accept: (*Server).receiveInput}, // reliable too, for peers that no datagram reaches
	{Name: "checksums", Kind: kindHash, Reliable: true, Accept: (*Server).receiveHash},
	{Name: "orders", Kind: kindOrder, Reliable: true, Accept: (*Server).receiveOrder},
	{Name: "orders", Phase: systems.Reconcile, Run: func(s *Server) { s.Step.Orders = s.orders.AppendAt(s.Step.Orders, s.Done()+1) }},
	{Name: "inputs", Phase: systems.Reconcile, Run: (*Server).ChooseInputs},
	{Name: "codes", Phase: systems.Present, Run: (*Server).encode},
	{Name: "checksums", Phase: systems.Present, Run: (*Server).hash},
	{Name: "stamps", Phase: systems.Send, Run: (*Server).stampRequested},
	{Name: "confirmations", Phase: systems.Send, Run: func(s *Server) { s.Serve((*Server).confirm) }},
}

const (
	backlog       = 1024               // ticks whose input sets are always kept: how far behind any peer may be and still be served
	maxAhead      = systems.Second / 2 // how far ahead of Done an order is stamped at most
	checkEvery    = 60                 // interval of checksum comparisons, in ticks
	mostRepeated  = 4                  // orders that are sent a peer again at once
	copies        = 3                  // datagrams that carry a tick, as long as no acknowledgement is overdue
	patience      = 2                  // confirmations without a new acknowledgement after which one is overdue
	cautious      = 10                 // seconds during which all ticks are repeated, after an acknowledgement was overdue
	checksumsKept = 64                 // a client may be 64 seconds behind at 60 ticks per second
)

// NewServer returns the server's half for a world.
func NewServer(c systems.ServerConfig) (systems.Server, error) {
	s := &Server{checksums: rollback.NewRing[image.Checksum](checksumsKept)}
	err := s.Init(authority.Config[*Server, link]{Name: "relay", Malformed: ErrMessage, Server: c, Context: s, Systems: serverSystems,
		SaveEvery: checkEvery, Behind: backlog, Buffers: true,
		Hooks: authority.Hooks[link]{Opened: s.opened, Oldest: s.oldest, Vacate: func(_ ecs.Tick, p ecs.Player) { s.strikes[p] = 0 }}})
	if err == nil {
		err = checkGame(s.Game)
	}
	if err != nil {
		return nil, err
	}
	s.codes, s.strikes = newCodes(s.Game), make([]int, s.Game.MaxPlayers)
	s.older = olderTicks{limit: cmp.Or(c.Backlog, defaultBacklog), wanted: math.MaxUint64}
	s.recent, s.before = newRecent(s.Game.MaxPlayers), make([]code.Course, s.Game.MaxPlayers)
	last := make([]ecs.InputBytes, s.Game.MaxPlayers)
	for p := range last {
		last[p] = s.World().Image().LastInput(ecs.Player(p))
		s.before[p] = code.Course{Last: s.Step.Inputs[p], Before: last[p]}
	}
	s.keepInputs(s.Done()-1, last)
	s.keepInputs(s.Done(), s.Step.Inputs)
	s.ReadPast(s.Done()-min(s.Done(), backlog+1), s.past)
	if c.Past != nil {
		s.stamped.tick = s.Done() // the orders up to it are sent to peers that lack them
	}
	return s, nil
}

// past stores the code of a tick of ServerConfig.Past. The set of altered inputs is not recorded. Only their senders would use it.
func (s *Server) past(f *systems.FinalTick, before, earlier []ecs.InputBytes) {
	for _, o := range f.Orders {
		s.orders.Add(f.Tick, o)
	}
	s.keepInputs(f.Tick-2, earlier)
	s.keepInputs(f.Tick-1, before)
	for p := range s.before {
		s.before[p] = code.Course{Last: before[p], Before: earlier[p]}
	}
	s.codes.add(f.Tick, &finalTick{inputs: f.Inputs, orders: rollback.DigestOrders(f.Orders)}, s.before, s.Game, nil)
}

// recentTick holds the inputs of a final tick, by player. ends are positions in the tick's code, in bits: where the code of each
// input begins, and where the last one ends.
type recentTick struct {
	inputs  []ecs.InputBytes
	altered image.PlayerSet
	ends    []uint16
}

func newRecent(players int) rollback.Ring[recentTick] {
	r := rollback.NewRing[recentTick](recentTicks)
	inputs, ends := make([]ecs.InputBytes, recentTicks*players), make([]uint16, recentTicks*(players+1))
	for f := range recentTicks {
		t, _ := r.Slot(ecs.Tick(f))
		t.inputs, t.ends = inputs[f*players:][:players:players], ends[f*(players+1):][:players+1]
		r.Drop(ecs.Tick(f))
	}
	return r
}

// keepInputs keeps the inputs of a tick, against which later ones are coded.
func (s *Server) keepInputs(f ecs.Tick, inputs []ecs.InputBytes) *recentTick {
	t, _ := s.recent.Slot(f)
	copy(t.inputs, inputs)
	return t
}

// course returns the inputs of a seat in tick f and in the tick before; ok is false if they are not kept.
func (s *Server) course(f ecs.Tick, seat int) (c code.Course, ok bool) {
	last, ok := s.recent.At(f)
	if before, held := s.recent.At(f - 1); ok && held {
		c.Before = before.inputs[seat]
	} else if !ok || f > 0 {
		return c, false
	}
	c.Last = last.inputs[seat]
	return c, true
}

// opened sends a peer the orders that it may lack: those of ticks after its state.
func (s *Server) opened(p *peer, again bool) {
	p.Own = link{moved: s.Done(), ordered: p.Opened, repeated: s.Done()}
	if again {
		p.Own.ownAfter = s.Done() + recentTicks
	}
	s.sendStamped(p)
}

// Stamp enters an order into the match and sends it to every peer. Ticks of orders never decrease: orders are executed in
// the order in which they were stamped. It panics on an order that no peer would accept.
func (s *Server) Stamp(o image.Order, out systems.Outbox) ecs.Tick {
	s.CheckOrder(&o)
	next, before := stampedOrder{tick: max(s.Done()+s.ahead(), s.stamped.tick), order: o}, s.stamped.tick
	if next.tick == before {
		next.number = s.stamped.number + 1
	}
	if next.number == maxOrdersPerTick {
		next.tick, next.number = next.tick+1, 0
	}
	s.stamped, s.Stamped = next, next.tick
	s.stamped.order.Payload = nil // the caller's
	s.orders.Add(next.tick, o)
	s.Sending.Message = next.append(s.Sending.Message[:0])
	for i := range s.Peers {
		if p := &s.Peers[i]; p.Open && p.Own.ordered >= before { // others are sent it in its turn
			p.Own.ordered = next.tick
			out.Send(p.ID, systems.Reliable, s.Sending.Message)
			s.CountPart(image.PartOrders, len(s.Sending.Message))
		}
	}
	return next.tick
}

// ahead returns the number of ticks between Done and the tick of a new order, in [2, maxAhead]. It is the median round trip of
// the players, measured by their acknowledgements. Of two medians it is the shorter. A single slow player therefore does not
// delay the orders of others.
func (s *Server) ahead() ecs.Tick {
	lags := s.scratch.lags[:0]
	for i := range s.Peers {
		if p := &s.Peers[i]; p.Open && p.Seat >= 0 {
			lags = append(lags, s.Done()-min(p.Acked, s.Done()))
		}
	}
	s.scratch.lags = lags
	if len(lags) == 0 {
		return 2
	}
	slices.Sort(lags)
	return min(max(lags[(len(lags)-1)/2]+1, 2), max(2, ecs.Tick(maxAhead/s.Grid.Tick)))
}

// Unexecuted appends the orders of ticks after Done, and those that players requested.
func (s *Server) Unexecuted(dst []image.Order) []image.Order {
	return append(s.orders.AppendAfter(dst, s.Done()), s.requested...)
}

// Adopt makes the next tick final as it is given. The error is that of a tick that no client would accept.
func (s *Server) Adopt(t systems.FinalTick) error {
	if len(t.Orders) > maxOrdersPerTick {
		return fmt.Errorf("relay: tick %d has %d orders, at most %d", t.Tick, len(t.Orders), maxOrdersPerTick)
	}
	for _, o := range t.Orders {
		if !o.Kind.Shared() {
			return fmt.Errorf("relay: tick %d has an order of kind %d, which no client accepts", t.Tick, o.Kind)
		}
	}
	if err := s.CheckTick(t); err != nil {
		return err
	}
	world, validate := s.World(), s.Game.Validate
	for p, in := range t.Inputs {
		if p := ecs.Player(p); in != (ecs.InputBytes{}) && (!world.Players().Has(p) || validate != nil && !validate(world, p, in)) {
			return fmt.Errorf("relay: tick %d has an input of player %d, who is not in the match or may not give it", t.Tick, p)
		}
	}
	for _, o := range t.Orders {
		s.orders.Add(t.Tick, o)
	}
	s.stamped = stampedOrder{tick: t.Tick, number: len(t.Orders)}
	return s.Server.Adopt(t)
}

func (s *Server) encode() {
	s.retire()
	t := finalTick{inputs: s.Step.Inputs, altered: s.Step.Late, orders: rollback.DigestOrders(s.Step.Orders)}
	recent := s.keepInputs(s.Done(), s.Step.Inputs)
	recent.altered = s.Step.Late
	s.codes.add(s.Done(), &t, s.before, s.Game, recent.ends)
	s.orders.DropBefore(s.OldestServable() + 1)
}

// hash keeps the checksum of a state that clients compare with theirs.
func (s *Server) hash() {
	if f := s.Done(); f%checkEvery == 0 {
		s.checksums.Put(f/checkEvery, s.Step.State.Checksum())
	}
}

// stampRequested stamps the orders that players requested since the last Send.
func (s *Server) stampRequested() {
	for _, o := range s.requested {
		s.Stamp(o, s.Sending.Out)
	}
	clear(s.requested)
	s.requested = s.requested[:0]
}

// confirm sends a peer the ticks that it has not acknowledged.
//
// Four times a second it also repeats the orders of the first of them, as datagrams. All that follows waits for them, and
// the reliable channel repeats a lost message that nothing follows only after several round trips.
func (s *Server) confirm(p *peer) {
	s.sendStamped(p)
	switch {
	case p.Acked >= s.Done():
	case p.Acked < s.OldestServable():
		p.Resync.Request()
	default:
		if s.Done()%max(1, ecs.Tick(s.Game.TickRate/4)) == 0 {
			s.sendOrders(p, p.Acked+1, systems.Datagram, mostRepeated)
		}
		if first, last := s.nextTicks(p); first <= last {
			s.Sending.Out.Send(p.ID, systems.Datagram, s.confirmation(p, first, last))
		}
	}
}

// confirmation writes as many of the ticks first … last as fit a datagram. Where not all fit, the next
// confirmation continues where this one ended, so that a peer with a long round trip receives several datagrams of ticks in
// each. After one that reaches Done, the next starts at the last acknowledged tick.
func (s *Server) confirmation(p *peer, first, last ecs.Tick) []byte {
	head := confirmHead{first: first, count: s.fit(first, last, systems.MaxDatagram-headBytes), withoutOwn: s.hasOwn(p, first)}
	head.more = min(s.Done()-head.last(), backlog)
	link := &p.Own
	if link.sent = head.last(); head.more == 0 {
		link.sent = 0
	}
	copy(link.confirmed[1:], link.confirmed[:])
	link.confirmed[0] = s.Done()
	link.waits++
	if p.Seat >= 0 {
		head.margin, head.hasMargin = s.Seats[p.Seat].PopWorst()
	}
	w := wire.NewWriter(s.Sending.Message[:0], systems.MaxDatagram)
	head.append(&w)
	before := len(w.Bytes())
	bits := wire.NewBitWriter(w.Bytes(), w.Room())
	for f := head.first; f <= head.last(); f++ {
		if head.withoutOwn {
			s.appendWithoutOwn(&bits, f, p.Seat)
		} else {
			code.AppendStored(&bits, s.code(f))
		}
	}
	s.Sending.Message = bits.Bytes()
	s.CountPart(image.PartTick, before)
	s.CountPart(image.PartInputs, len(s.Sending.Message)-before)
	return s.Sending.Message
}

// hasOwn reports whether a peer has its own inputs of tick f and later ones. It may lack those from before its player entered the
// match with this connection, and those from before its last image.
func (s *Server) hasOwn(p *peer, f ecs.Tick) bool {
	return p.Seat >= 0 && f > max(p.Own.ownAfter, s.Seats[p.Seat].Before()) && f+recentTicks > s.Done()
}

// appendWithoutOwn appends the code of one of the recent ticks without the input of a seat, unless it was altered.
func (s *Server) appendWithoutOwn(w *wire.BitWriter, f ecs.Tick, seat int) {
	stored := s.code(f)
	if t, _ := s.recent.At(f); code.StoredBits(stored) > 1 && !t.altered.Has(ecs.Player(seat)) {
		code.AppendWithout(w, stored, int(t.ends[seat]), int(t.ends[seat+1]))
	} else {
		code.AppendStored(w, stored)
	}
}

// sendOrders sends a peer the first orders of tick f, and returns how many bytes they count in flight.
func (s *Server) sendOrders(p *peer, f ecs.Tick, ch systems.Channel, most int) (bytes int) {
	s.scratch.orders = s.orders.AppendAt(s.scratch.orders[:0], f)
	for i, o := range s.scratch.orders[:min(len(s.scratch.orders), most)] {
		m := stampedOrder{tick: f, number: i, order: o}
		if s.Sending.Message = m.append(s.Sending.Message[:0]); ch == systems.Reliable || len(s.Sending.Message) <= systems.MaxDatagram {
			s.Sending.Out.Send(p.ID, ch, s.Sending.Message)
			s.CountPart(image.PartOrders, len(s.Sending.Message))
			bytes += max(len(s.Sending.Message), leastOrder)
		}
	}
	return bytes
}

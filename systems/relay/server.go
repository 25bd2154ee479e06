package relay

import (
	"bytes"
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
	"tendon/systems/vote"
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
	before    []ecs.InputBytes // of the last tick that is in codes
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
	confirmed ecs.Tick         // Done at the last confirmation
	moved     ecs.Tick         // Done when Acked rose last
	caughtUp  bool             // Acked was at most backlog/2 ticks behind Done
	ordered   ecs.Tick         // the orders up to it were sent on the reliable channel
	flight    authority.Flight // of orders that were sent in turn, not when they were stamped
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
	s.before = append(s.before, s.Step.Inputs...)
	s.ReadPast(s.Done()-min(s.Done(), backlog), s.past)
	if c.Past != nil {
		s.stamped.tick = s.Done() // the orders up to it are sent to peers that lack them
	}
	return s, nil
}

// past makes a tick of ServerConfig.Past one that can be sent. The set of altered inputs is not recorded; only their senders
// would use it.
func (s *Server) past(f *systems.FinalTick, before []ecs.InputBytes) {
	for _, o := range f.Orders {
		s.orders.Add(f.Tick, o)
	}
	s.codes.add(f.Tick, &finalTick{inputs: f.Inputs, orders: rollback.DigestOrders(f.Orders)}, before, s.Game)
}

// opened sends a peer the orders that it may lack: those of ticks after its state.
func (s *Server) opened(p *peer, _ bool) {
	p.Own = link{moved: s.Done(), ordered: p.Opened}
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
	s.stamped = next
	s.stamped.order.Payload = nil // the caller's
	s.orders.Add(next.tick, o)
	s.Sending.Message = next.append(s.Sending.Message[:0])
	for i := range s.Peers {
		if p := &s.Peers[i]; p.Open && p.Own.ordered >= before { // others are sent it in its turn
			p.Own.ordered = next.tick
			out.Send(p.ID, systems.Reliable, s.Sending.Message)
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
	s.codes.add(s.Done(), &t, s.before, s.Game)
	copy(s.before, s.Step.Inputs)
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
	head := confirmHead{first: first, count: s.fit(first, last, systems.MaxDatagram-headBytes)}
	head.more = min(s.Done()-head.last(), backlog)
	p.Own.sent, p.Own.confirmed = head.last(), s.Done()
	if head.more == 0 {
		p.Own.sent = 0
	}
	if p.Seat >= 0 {
		head.margin, head.hasMargin = s.Seats[p.Seat].PopWorst()
	}
	w := wire.NewWriter(s.Sending.Message[:0], systems.MaxDatagram)
	head.append(&w)
	bits := wire.NewBitWriter(w.Bytes(), w.Room())
	for f := head.first; f <= head.last(); f++ {
		code.AppendStored(&bits, s.code(f))
	}
	s.Sending.Message = bits.Bytes()
	return s.Sending.Message
}

// sendOrders sends a peer the first orders of tick f, and returns how many bytes they count in flight.
func (s *Server) sendOrders(p *peer, f ecs.Tick, ch systems.Channel, most int) (bytes int) {
	s.scratch.orders = s.orders.AppendAt(s.scratch.orders[:0], f)
	for i, o := range s.scratch.orders[:min(len(s.scratch.orders), most)] {
		m := stampedOrder{tick: f, number: i, order: o}
		if s.Sending.Message = m.append(s.Sending.Message[:0]); ch == systems.Reliable || len(s.Sending.Message) <= systems.MaxDatagram {
			s.Sending.Out.Send(p.ID, ch, s.Sending.Message)
			bytes += max(len(s.Sending.Message), leastOrder)
		}
	}
	return bytes
}

// receiveInput accepts the inputs of a player, or the acknowledgement of a spectator.
func (s *Server) receiveInput(m systems.Message) error {
	p, in := &s.Peers[m.From], &s.scratch.input
	if !s.AllowMessage(p) {
		return nil
	}
	if in.read(m.Body, s.Done(), s.Game) != nil || in.received > s.Done() || p.Seat < 0 && len(in.inputs) > 0 {
		return ErrMessage
	}
	// The last acknowledgement counts, not the newest tick: one that was sent before an image was loaded may arrive after
	// it. One that was overtaken only makes the next confirmation longer.
	if in.received >= s.OldestServable() {
		if in.received > p.Acked {
			p.Own.moved = s.Done()
		}
		p.Acked, p.Stats.Acked = in.received, in.received
	}
	if p.Seat >= 0 {
		s.ReceiveInputs(m, in.received+1, in.inputs)
	}
	return nil
}

// receiveHash compares a checksum of a peer with the server's.
func (s *Server) receiveHash(m systems.Message) error {
	p := &s.Peers[m.From]
	f, claim, ok, err := s.ClaimedChecksum(m, checkEvery)
	if own, kept := s.checksums.At(f / checkEvery); ok && kept && p.Compare(f, *own, claim) {
		strikes := int(p.Stats.Desyncs) // of a spectator's connection
		if p.Seat >= 0 {
			s.strikes[p.Seat]++
			strikes = s.strikes[p.Seat]
		}
		p.Stats.Expelled = strikes >= vote.MaxStrikes
	}
	return err
}

// receiveOrder accepts an order that a player requests. It is stamped with the next Send.
func (s *Server) receiveOrder(m systems.Message) error {
	o, ok, err := s.Requested(m)
	if ok {
		o.Payload = bytes.Clone(o.Payload)
		s.requested = append(s.requested, o)
	}
	return err
}

package verify

import (
	"bytes"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/limit"
	"tendon/systems"
	"tendon/systems/authority"
)

// Server is the strategy's half on the server. The commands in queue arrived since tick Done and are decided on in the next
// tick.
type Server struct {
	authority.Server[*Server, link]
	settings  Config
	seats     []commandSeat // by player
	queue     []queued      // in the order of their arrival
	deltas    deltas
	rehearsal *rehearsal // nil until the game checks an order
	between   []ecs.Tick // ticks of kept states between the oldest needed one and Done: see keepBetween

	scratch struct {
		numbers []uint64 // by order in Step.Orders: the command that it was, 0 for a stamped one
		ask     askMessage
		state   stateMessage
		piece   []byte
		kept    []ecs.Tick
	}
}

// link is the part that verify adds to a peer. A peer's Acked is the newest state that it holds.
//
// A State that fits a datagram is a delta from Acked, repeated with later changes until it is acknowledged. A larger
// one is sent on the reliable channel, each as a delta from the one before. chain is the last of them, which arrives
// before the next. A datagram ends the chain: the next reliable State starts at Acked again.
type link struct {
	chain  ecs.Tick // newest tick sent on the reliable channel; counts if it is above Acked
	flight authority.Flight
}

type peer = authority.Peer[link]

// serverSystems are the systems of the server half. Messages are accepted on either channel, for peers that no datagram
// reaches.
var serverSystems = []systems.System[*Server]{
	{Name: "commands", Kind: kindAsk, Accept: (*Server).receiveAsk},
	{Name: "orders", Phase: systems.Reconcile, Run: (*Server).NextOrders},
	{Name: "commands", Phase: systems.Reconcile, Run: (*Server).decideCommands},
	{Name: "order checks", Phase: systems.Reconcile, Run: (*Server).checkOrders},
	{Name: "states", Phase: systems.Send, Run: func(s *Server) { s.Serve((*Server).sendState) }},
}

// The bounds of a peer's unacknowledged States on the reliable channel: bytes, which a single State may exceed, and States.
// A State beyond them is not sent until there is room, and is then of the newest tick. So it is while a quarter of a second of
// earlier ones waits to be sent: see systems.Outbox. On a slow channel the display is updated less often, but not later and later.
const (
	window    = 64 << 10
	maxStates = 128
)

func newServer(c systems.ServerConfig, settings Config) (systems.Server, error) {
	settings, err := settings.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{settings: settings}
	err = s.Init(authority.Config[*Server, link]{Name: "verify", Malformed: ErrMessage, Server: c, Context: s, Systems: serverSystems,
		History: settings.History, OrdersPerTick: maxOrders, Events: true, Hides: true,
		Hooks: authority.Hooks[link]{Opened: func(p *peer, _ bool) { p.Own = link{} }}})
	if err != nil {
		return nil, err
	}
	before := uint64(s.Done()) * numbersPerTick
	for _, held := range s.Step.Inputs {
		s.seats = append(s.seats, commandSeat{first: 1, newest: before, decided: before, held: held,
			inputs: limit.New[ecs.Tick](1, inputBurst)})
	}
	return s, nil
}

// Adopt makes the next tick final as it is given. Clients receive states, so every tick is valid.
func (s *Server) Adopt(t systems.FinalTick) error {
	for p := range s.seats {
		s.seats[p].held = ecs.InputBytes{}
		if p < len(t.Inputs) {
			s.seats[p].held = t.Inputs[p]
		}
	}
	return s.Server.Adopt(t)
}

// receiveAsk accepts the commands and the acknowledgement of a peer.
func (s *Server) receiveAsk(m systems.Message) error {
	p, ask := &s.Peers[m.From], &s.scratch.ask
	if !s.AllowMessage(p) {
		return nil
	}
	seated := p.Seat >= 0
	if ask.read(m.Body, s.Done(), s.Game) != nil || ask.held > s.Done() || !seated && len(ask.asked) > 0 ||
		seated && ask.first > s.seats[p.Seat].newest+1+maxLeap {
		return ErrMessage
	}
	if ask.held > p.Acked { // one that was overtaken does not count: states only move forward
		p.Own.flight.Acknowledge(ask.held)
		p.Acked, p.Stats.Acked = ask.held, ask.held
		p.Stats.Checked++
	}
	if ask.lost {
		p.RequestImage()
	}
	if seated {
		s.enqueue(p, ask)
	}
	return nil
}

// enqueue queues the commands that are new. Those that arrived before are answered with the next State.
func (s *Server) enqueue(p *peer, m *askMessage) {
	seat := &s.seats[p.Seat]
	seat.answered(m.first)
	for i := range m.asked {
		c := &m.asked[i]
		switch {
		case c.Number <= seat.newest:
		case seat.waiting >= s.settings.MaxOutstanding:
			p.Stats.Refused++
			return // a client has no more without answers, and asks again
		default:
			c.Order = bytes.Clone(c.Order)
			s.queue = append(s.queue, queued{p.Player(), *c})
			seat.newest = c.Number
			seat.waiting++
		}
	}
}

// sendState sends a peer the state of Done, unless it needs an image or too much is unacknowledged. A large State goes on the
// reliable channel in pieces. A peer whose state is too old for one State is first sent a state between: see reachable.
func (s *Server) sendState(p *peer) {
	link, base := &p.Own, baseOf(p)
	done, ok := s.reachable(base)
	switch {
	case p.Acked >= done || p.Resync != authority.InSync || link.flight.Bytes > window:
		return
	case !ok:
		p.Resync.Request()
		return
	}
	// A short chain of States may fit a datagram as one State. A long one is not tried.
	message, fresh := []byte(nil), s.Serves(p.Acked) && done-p.Acked <= maxHistory
	if !s.settings.Reliable && fresh && (base == p.Acked || link.flight.Bytes <= 2*systems.MaxDatagram) {
		message = s.state(p, p.Acked, done)
		if message != nil && len(message) <= systems.MaxDatagram {
			link.chain = 0
			s.Sending.Out.Send(p.ID, systems.Datagram, message)
			s.countState(p, len(message))
			return
		}
	}
	if base >= done || s.Sending.Out.Room(p.ID) == 0 || !fresh && done-p.Acked >= ecs.Tick(s.States.Depth()) {
		return
	}
	if base != p.Acked || message == nil {
		message = s.state(p, base, done)
	}
	if message == nil {
		p.Resync.Request() // larger than an image
		return
	}
	if link.flight.Bytes > 0 && link.flight.Bytes+len(message) > window || link.flight.Len() == maxStates {
		return
	}
	link.chain = done
	link.flight.Add(done, len(message))
	s.countState(p, len(message))
	if len(message) <= pieceBytes {
		s.Sending.Out.Send(p.ID, systems.Reliable, message)
		return
	}
	sent := 0
	for piece := range slices.Chunk(message, pieceBytes) {
		sent += len(piece)
		s.scratch.piece = appendPiece(s.scratch.piece[:0], sent < len(message), piece)
		s.Sending.Out.Send(p.ID, systems.Reliable, s.scratch.piece)
	}
}

// countState accounts the State of the scratch message that is sent to a peer.
func (s *Server) countState(p *peer, bytes int) {
	o, m := s.ByteObserver(), &s.scratch.state
	if o == nil {
		return
	}
	events := 0
	for _, emitted := range m.happened {
		events += len(emitted)
	}
	s.CountPart(image.PartEvents, events)
	s.CountPart(image.PartTick, bytes-events-len(m.delta))
	if now, ok := p.Sight.StateAt(m.tick); ok {
		now.CountDelta(m.delta, o)
	}
}

// state writes the State of tick to for a peer that holds State(base). It returns nil if the State is too large.
func (s *Server) state(p *peer, base, to ecs.Tick) []byte {
	m := &s.scratch.state
	m.base, m.tick, m.answered, m.rejected = base, to, 0, nil
	if p.Seat >= 0 {
		m.answered, m.rejected = s.seats[p.Seat].decided, s.seats[p.Seat].rejected
	}
	m.happened = m.happened[:0]
	for _, emitted := range p.Sight.Events.Between(base, to) {
		m.happened = append(m.happened, emitted)
	}
	m.delta = s.delta(p.Sight, base, to)
	message := m.append(s.Sending.Message[:0])
	if message != nil {
		s.Sending.Message = message
	}
	return message
}

// PeerStats returns the counters of an open peer. Every acknowledged state had the right checksum on the client, so it
// counts as checked. Refused counts messages that could not be used and commands of the seat that were rejected.
func (s *Server) PeerStats(id systems.Peer) systems.PeerStats {
	st := s.Server.PeerStats(id)
	if int(id) >= len(s.Peers) {
		return st
	}
	if p := &s.Peers[id]; p.Open && p.Seat >= 0 {
		st.Refused += s.seats[p.Seat].rejects
	}
	return st
}

// deltas caches the deltas from older states to one state. Each is made once for all peers that hold the older state.
type deltas struct {
	tick  ecs.Tick // of the state that they lead to
	bases []deltaBase
	ends  []int // by base: where its delta ends in bytes
	bytes []byte
}

// deltaBase is an older state, as some peers may know it.
type deltaBase struct {
	sight *authority.Sight
	tick  ecs.Tick
}

// delta returns the delta from State(base) to State(to), as peers with this Sight may know them. Both must be kept. It is valid
// until the next call.
func (s *Server) delta(sight *authority.Sight, base, to ecs.Tick) []byte {
	d, from := &s.deltas, 0
	if d.tick != to {
		d.tick, d.bases, d.ends, d.bytes = to, d.bases[:0], d.ends[:0], d.bytes[:0]
	}
	for i, end := range d.ends {
		if d.bases[i] == (deltaBase{sight, base}) {
			return d.bytes[from:end]
		}
		from = end
	}
	old, ok := sight.StateAt(base)
	now, ok2 := sight.StateAt(to)
	if !ok || !ok2 {
		panic("verify: a delta between states that are not kept: check Serves first")
	}
	d.bytes = now.AppendDelta(d.bytes, old)
	d.bases, d.ends = append(d.bases, deltaBase{sight, base}), append(d.ends, len(d.bytes))
	return d.bytes[from:]
}

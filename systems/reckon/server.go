package reckon

import (
	"fmt"
	"iter"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/authority"
	"tendon/systems/clock"
	"tendon/systems/interest"
	"tendon/systems/internal/inputs"
	"tendon/systems/internal/relevance"
)

// Server is the strategy's half on the server. After the game's systems, each tick moves every avatar to where its newest
// accepted record leads. The positions are orders of kind image.OrderMotion in the tick, so that a replay computes the same.
type Server struct {
	authority.Server[*Server, link]
	settings Config
	steered  *ecs.Query1[ecs.Seat, ecs.Seat]
	avatars  []avatar
	motion   motionReplicator
	sets     *relevance.Sets // nil: every entity is relevant to every peer
	urgent   ecs.Tick        // last tick with an irreversible event, or in which an entity was spawned or removed

	scratch struct {
		payloads []byte // of the motions in Step.Orders
		move     moveMessage
		snaps    []claim
	}
}

// link is what the strategy adds to a peer.
type link struct {
	clock      remoteClock
	anchors    []uint8  // by slot: number of the anchor that the client holds
	interval   uint64   // of the last body
	body       ecs.Tick // of the last body
	update     ecs.Tick // of the last message
	repeats    repeats
	introduced bool         // it was sent records of everything that moves
	placed     bool         // it has an avatar
	at         fixed.Vec3   // position of the avatar
	entered    []ecs.Entity // that have entered its relevance set since the last tick
	relevant   iter.Seq2[ecs.Entity, float32]
	decoder    inputs.WindowDecoder
}

type peer = authority.Peer[link]

// serverSystems are the systems of the server half. Moves and clock messages are accepted on either channel, for peers that
// no datagram reaches.
var serverSystems = []systems.System[*Server]{
	{Name: "moves", Kind: kindMove, Accept: (*Server).receiveMove},
	{Name: "orders", Kind: kindOrder, Reliable: true, Accept: (*Server).ReceiveOrder},
	{Name: "clock probes", Kind: clock.KindPing, Accept: (*Server).receiveClock},
	{Name: "clock acknowledgements", Kind: clock.KindPongAck, Accept: (*Server).receiveClock},
	{Name: "orders", Phase: systems.Reconcile, Run: (*Server).NextOrders},
	{Name: "inputs", Phase: systems.Reconcile, Run: (*Server).ChooseInputs},
	{Name: "avatars", Phase: systems.Reconcile, Run: (*Server).placeAvatars},
	{Name: "changes", Phase: systems.Present, Run: (*Server).FindChanges},
	{Name: "motion", Phase: systems.Present, Run: (*Server).observe},
	{Name: "replication", Phase: systems.Present, Run: (*Server).Replicate},
	{Name: "avatars", Phase: systems.Present, Run: (*Server).updateAvatars},
	{Name: "interest", Phase: systems.Present, Run: (*Server).updateInterest},
	{Name: "records", Phase: systems.Present, Run: (*Server).selectRecords},
	{Name: "events", Phase: systems.Send, Run: func(s *Server) { s.SendEvents(kindEvents) }},
	{Name: "clock", Phase: systems.Send, Run: func(s *Server) { s.Serve((*Server).sendClock) }},
	{Name: "updates", Phase: systems.Send, Run: (*Server).sendUpdates},
}

// The bounds of the orders of a tick. A recording can count 255 in all.
const (
	maxPlaced = 127             // avatars
	maxOrders = 255 - maxPlaced // others; more wait for the next tick
)

var _ systems.Server = (*Server)(nil)

func newServer(c systems.ServerConfig, settings Config) (systems.Server, error) {
	var err error
	s := &Server{}
	if c.World != nil {
		if settings, err = settings.withDefaults(c.World.Game()); err != nil {
			return nil, err
		}
	}
	s.settings = settings
	err = s.Init(authority.Config[*Server, link]{Name: "reckon", Malformed: ErrMessage, Server: c, Context: s, Systems: serverSystems,
		History: settings.History, OrdersPerTick: maxOrders, Buffers: true, Replicates: true, Hides: true,
		Hooks: authority.Hooks[link]{Opened: s.opened, Closed: s.closed, Filter: s.eventFilter}})
	if err != nil {
		return nil, err
	}
	seat, err := seats(s.Game)
	if err != nil {
		return nil, err
	}
	s.steered = ecs.NewQuery1(ecs.Read(seat))
	if settings.Interest > 0 {
		near := interest.Config{Radius: settings.Interest, Rate: s.Game.TickRate, PairList: settings.PairList}
		if s.sets, err = relevance.New(near, 0, s.Changes, s.Game); err != nil {
			return nil, fmt.Errorf("reckon: %w", err)
		}
	}
	if s.settings.Remotes.Rules.Parent == nil {
		s.settings.Remotes.Rules.Parent = s.World().Image().Motion
	}
	s.motion.server = s
	s.FindChanges()
	s.motion.observe()
	s.EachSight(func(v *authority.Sight) { v.Changes.OmitPositions(s.motion.replicates) })
	s.Replicate()
	s.updateAvatars()
	s.updateInterest()
	return s, nil
}

// opened starts with the clock and the avatars of a peer anew.
func (s *Server) opened(p *peer, again bool) {
	link := &p.Own
	if link.relevant == nil && s.settings.Assumed == 0 {
		link.clock.exchange = clock.NewAnswerer()
	}
	link.relevant = s.relevanceOf(p)
	link.interval, link.body, link.update, link.clock.near, link.introduced, link.repeats = 0, 0, 0, 0, false, repeats{}
	link.placed = link.placed && again
	clear(link.anchors)
	if p.Seat >= 0 {
		s.restartAvatars(p.Player(), s.Sending.Now)
	}
}

// closed releases the avatars of a peer. They continue as their last records lead, and stop or stay on
// their carriers.
func (s *Server) closed(old *peer) {
	if s.sets != nil {
		s.sets.Unwatch(int(old.ID))
	}
	if old.Seat < 0 || s.PeerOf(old.Player()) != nil {
		return
	}
	for i := range s.avatars {
		if a := &s.avatars[i]; int(a.player) == old.Seat {
			a.held = false
		}
	}
}

// observe takes the motion of the last tick, and whether clients must be sent a body of state at once.
func (s *Server) observe() {
	for _, e := range s.World().Events() {
		if e.Irreversible && !e.Private { // other peers must not see that one happened
			s.urgent = s.Done()
		}
	}
	if s.motion.observe() {
		s.urgent = s.Done()
	}
}

// selectRecords selects the motion records that are due after the last tick.
func (s *Server) selectRecords() {
	if !s.Step.Adopted {
		s.motion.selectRecords(s.Step.Due)
	}
}

// receiveMove accepts the inputs, records and acknowledgements of a player, or the acknowledgements of a spectator.
func (s *Server) receiveMove(m systems.Message) error {
	p, move := &s.Peers[m.From], &s.scratch.move
	if !s.AllowMessage(p) {
		return nil
	}
	clientNow, near, known := p.Own.clock.at(m.Now)
	if move.read(m.Body, s.Done(), near, &p.Own.decoder, s.Game) != nil || move.received > s.Done() ||
		p.Seat < 0 && len(move.done)+len(move.claims) > 0 || p.Sender.Acked(move.ack) != nil {
		return ErrMessage
	}
	p.Acked = max(p.Acked, move.received)
	p.Stats.Acked = p.Acked
	p.Own.repeats.acknowledge(move.received)
	if move.helpless {
		p.RequestImage()
	}
	for _, ack := range move.anchors {
		s.motion.acknowledge(p, ack)
	}
	// The client sent the message after the update of tick received had arrived.
	late := systems.Time(s.Done()-move.received+2) * systems.Second / systems.Time(s.Game.TickRate)
	for i := range move.claims {
		s.claim(p, &move.claims[i], clientNow, known, late, m.Now)
	}
	if p.Seat >= 0 {
		s.ReceiveInputs(m, move.received+1, move.done)
	}
	return nil
}

func (s *Server) receiveClock(m systems.Message) error {
	if p := &s.Peers[m.From]; p.Own.clock.exchange == nil || s.AllowMessage(p) {
		return p.Own.clock.receive(m)
	}
	return nil
}

func (s *Server) sendClock(p *peer) {
	p.Own.clock.send(&s.Sending.Message, p.ID, s.Sending.Now, s.Sending.Out)
}

// updateInterest moves the relevance set of each peer to its first avatar, and selects the events that peers receive.
func (s *Server) updateInterest() {
	for i := range s.Peers {
		s.followAvatar(&s.Peers[i])
	}
	if s.sets == nil {
		return
	}
	s.sets.Observe(s.Step.State, &s.Changed)
	for _, e := range s.sets.Update() {
		if e.Kind == interest.Enter {
			link := &s.Peers[e.Watcher].Own
			link.entered = append(link.entered, s.sets.Entity(e.Marker))
		}
	}
	s.FilterEvents()
}

func (s *Server) followAvatar(p *peer) {
	link := &p.Own
	link.entered, link.placed = link.entered[:0], false
	for i := range s.avatars {
		if p.Open && int(s.avatars[i].player) == p.Seat {
			m, _ := s.World().Image().Motion(s.avatars[i].entity)
			link.at, link.placed = m.Pos, true
			break
		}
	}
	switch {
	case s.sets == nil:
	case link.placed:
		s.sets.Watch(int(p.ID), link.at)
	default:
		s.sets.Unwatch(int(p.ID))
	}
}

// relevanceOf returns the relevance set of a peer, with the priorities of its entities. A peer without an avatar receives
// every entity.
func (s *Server) relevanceOf(p *peer) iter.Seq2[ecs.Entity, float32] {
	if s.sets == nil {
		return p.Sight.Changes.All
	}
	return func(yield func(ecs.Entity, float32) bool) {
		if p.Own.placed {
			s.sets.Each(int(p.ID), p.Player(), yield)
			return
		}
		for e, priority := range p.Sight.Changes.All {
			if !yield(e, 2*priority) {
				return
			}
		}
	}
}

// relevant reports whether an entity is relevant to a peer.
func (s *Server) relevant(p *peer, e ecs.Entity) bool {
	return s.sets == nil || !p.Own.placed || s.sets.Relevant(int(p.ID), p.Player(), e)
}

// eventFilter returns the filter of the events that a peer receives, nil for all: irreversible ones, those without an
// entity, and those of relevant entities.
func (s *Server) eventFilter(p *peer) func(*image.EmittedEvent) bool {
	if s.sets == nil {
		return nil
	}
	return func(e *image.EmittedEvent) bool {
		return e.Irreversible || e.Key.Entity.IsZero() || s.relevant(p, e.Key.Entity)
	}
}

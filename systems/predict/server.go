package predict

import (
	"fmt"
	"iter"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/authority"
	"tendon/systems/interest"
	"tendon/systems/internal/inputs"
	"tendon/systems/internal/relevance"
	"tendon/systems/lagcomp"
)

// Server is the strategy's half on the server. Each tick uses exactly one input of every player. Each peer is sent
// snapshots of its relevance set.
type Server struct {
	authority.Server[*Server, link]
	settings Config
	judge    *lagcomp.Judge  // nil: the server's present counts for everything
	sets     *relevance.Sets // nil: every entity is relevant to every peer
	avatars  []ecs.Entity    // by player: the entity that stands for the player's place

	scratch struct {
		stamps []byte // payloads of the views in Step.Orders
		input  inputMessage
	}
}

// link is what the strategy adds to a peer. A peer's Acked is the newest state that it holds.
type link struct {
	interval uint64       // of the last snapshot
	rtt      systems.Time // from a state to its first acknowledgement, smoothed
	relevant iter.Seq2[ecs.Entity, float32]
	waits    bool         // its clock has not settled
	delay    systems.Time // from receiving remote entities to showing them, as the client reports it
}

type peer = authority.Peer[link]

// serverSystems are the systems of the server half.
var serverSystems = []systems.System[*Server]{
	{Name: "inputs", Kind: kindInput, Accept: (*Server).receiveInput}, // reliable too, for peers that no datagram reaches
	{Name: "orders", Kind: kindOrder, Reliable: true, Accept: (*Server).ReceiveOrder},
	{Name: "orders", Phase: systems.Reconcile, Run: (*Server).NextOrders},
	{Name: "inputs", Phase: systems.Reconcile, Run: (*Server).ChooseInputs},
	{Name: "views", Phase: systems.Reconcile, Run: (*Server).stampViews},
	{Name: "changes", Phase: systems.Present, Run: (*Server).FindChanges},
	{Name: "replication", Phase: systems.Present, Run: (*Server).Replicate},
	{Name: "interest", Phase: systems.Present, Run: (*Server).updateInterest},
	{Name: "events", Phase: systems.Present, Run: (*Server).FilterEvents},
	{Name: "events", Phase: systems.Send, Run: func(s *Server) { s.SendEvents(kindEvents) }},
	{Name: "snapshots", Phase: systems.Send, Run: func(s *Server) { s.Serve((*Server).sendSnapshot) }},
}

// maxOrders bounds the orders of one tick beside the players' views. More wait for the next. A recording can count 255 in
// all.
const maxOrders = 255 - image.MaxPlayers

var _ systems.Server = (*Server)(nil)

func newServer(c systems.ServerConfig, settings Config) (systems.Server, error) {
	s := &Server{settings: settings}
	err := s.Init(authority.Config[*Server, link]{Name: "predict", Malformed: ErrMessage, Server: c, Context: s, Systems: serverSystems,
		History: settings.History, OrdersPerTick: maxOrders, Buffers: true, Replicates: true, Hides: true,
		Hooks: authority.Hooks[link]{Opened: s.opened, Filter: s.eventFilter}})
	if err != nil {
		return nil, err
	}
	if settings.Interest > 0 {
		near := interest.Config{Radius: settings.Interest, Rate: s.Game.TickRate, PairList: settings.PairList}
		if s.sets, err = relevance.New(near, 2, s.Changes, s.Game); err != nil {
			return nil, fmt.Errorf("predict: Config.Interest: %w", err)
		}
		s.avatars = make([]ecs.Entity, s.Game.MaxPlayers)
	}
	s.FindChanges()
	s.Replicate()
	s.updateInterest()
	if settings.MaxView > 0 {
		s.World().Image().SetPast(s.States.At)
		s.judge, err = lagcomp.NewJudge(lagcomp.Config{TickRate: s.Game.TickRate, Cap: settings.MaxView, Past: s.States.At})
	}
	return s, err
}

func (s *Server) opened(p *peer, _ bool) {
	p.Own.interval, p.Own.waits, p.Own.relevant = 0, p.Seat >= 0, p.Sight.Changes.All
	if s.sets != nil && p.Seat >= 0 {
		p.Own.relevant = func(yield func(ecs.Entity, float32) bool) { s.sets.Each(int(p.ID), p.Player(), yield) }
	}
}

// eventFilter returns the filter of the events that a peer receives, nil for all. It accepts irreversible events, events
// without an entity, events of the player's own entities, and events of relevant entities that exist.
func (s *Server) eventFilter(p *peer) func(*image.EmittedEvent) bool {
	if s.sets == nil || p.Seat < 0 {
		return nil
	}
	return func(event *image.EmittedEvent) bool {
		e := event.Key.Entity
		return event.Irreversible || e.IsZero() || e.Owner() == ecs.OwnedBy(p.Player()) ||
			image.ExistsAt(s.Step.State, e) && s.sets.Relevant(int(p.ID), p.Player(), e)
	}
}

// updateInterest updates the relevance sets. A player's position is that of their first entity that has one, until that
// entity is removed.
func (s *Server) updateInterest() {
	if s.sets == nil {
		return
	}
	state := s.Step.State
	s.sets.Observe(state, &s.Changed)
	for i := range s.Peers {
		p := &s.Peers[i]
		if !p.Open || p.Seat < 0 {
			s.sets.Unwatch(i)
			continue
		}
		avatar := &s.avatars[p.Seat]
		if !image.ExistsAt(state, *avatar) {
			*avatar = s.sets.First(p.Player())
		}
		if m, placed := state.Motion(*avatar); placed {
			s.sets.Watch(i, m.Pos)
		}
	}
	s.sets.Update()
}

// receiveInput accepts the inputs and the acknowledgement of a player, or the acknowledgement of a spectator.
func (s *Server) receiveInput(m systems.Message) error {
	p, in := &s.Peers[m.From], &s.scratch.input
	if !s.AllowMessage(p) {
		return nil
	}
	if in.read(m.Body, s.Done(), s.Game) != nil || in.received > s.Done() || p.Seat < 0 && len(in.done) > 0 || p.Sender.Acked(in.ack) != nil {
		return ErrMessage
	}
	s.acknowledge(p, in, m.Now)
	if p.Seat >= 0 {
		s.ReceiveEntries(m, in.received+1-ecs.Tick(in.back), len(in.done), func(i int) inputs.Entry { return in.done[i] })
	}
	return nil
}

// acknowledge records the state that a peer holds and its needs.
func (s *Server) acknowledge(p *peer, in *inputMessage, now systems.Time) {
	if in.received > p.Acked {
		p.Acked, p.Stats.Acked = in.received, in.received
		if s.Grid.Timed {
			sample := max(now-s.Grid.Due+systems.Time(s.Done()-in.received)*s.Grid.Tick, 0)
			if p.Own.rtt == 0 {
				p.Own.rtt = sample
			}
			p.Own.rtt += (sample - p.Own.rtt) / 8
		}
	}
	p.Own.delay, p.Own.waits = systems.Time(in.delay)*s.Grid.Tick, in.need == needsMeasures
	if in.need == needsImage {
		p.RequestImage()
	}
}

// minWarmupRate is the minimum snapshot rate, per second, for a client whose clock has not settled.
const minWarmupRate = 60

// sendSnapshot sends a peer a snapshot, if one is due and it does not wait for an image.
func (s *Server) sendSnapshot(p *peer) {
	rate := s.settings.SnapshotRate
	if p.Own.waits {
		rate = max(rate, minWarmupRate)
	}
	interval := s.Interval(p, rate)
	if interval == p.Own.interval || p.Resync != authority.InSync {
		return
	}
	p.Own.interval = interval
	head := snapshotHead{events: p.Events.Since(s.Done())}
	if p.Seat >= 0 {
		seat := &s.Seats[p.Seat]
		head.altered = seat.Altered
		if f, ok := seat.Missing(s.Done(), maxBack); ok {
			head.lacks = uint64(s.Done()-f) + 1
		}
		head.margin, head.hasMargin = seat.PopWorst()
	}
	w := wire.NewWriter(s.Sending.Message[:0], headBytes)
	head.append(&w)
	p.Sender.Align(interval)
	s.Sending.Message = p.Sender.Append(w.Bytes(), systems.MaxDatagram-w.Len(), p.Own.relevant)
	s.Sending.Out.Send(p.ID, systems.Datagram, s.Sending.Message)
}

// stampViews enters the views of the players into the running tick, as orders of kind image.OrderView.
func (s *Server) stampViews() {
	s.scratch.stamps = s.scratch.stamps[:0]
	if s.judge == nil {
		return
	}
	for p := range s.World().Players().All() {
		view := s.view(p)
		if view.Tick == 0 {
			continue
		}
		from := len(s.scratch.stamps)
		s.scratch.stamps = image.AppendViewStamp(s.scratch.stamps, view)
		payload := s.scratch.stamps[from:len(s.scratch.stamps):len(s.scratch.stamps)]
		s.Step.Orders = append(s.Step.Orders, image.Order{Kind: image.OrderView, Player: p, Payload: payload})
	}
}

// view returns the view of a player in the running tick, limited by lag compensation. Tick 0 stands for the present.
//
// The age of a view has three parts: the delay of the state to the player, the delay until it is shown, and the delay of the
// input. So the one-way latency of the judge is a whole round trip here: it is counted from the use of the input.
func (s *Server) view(p ecs.Player) image.ViewStamp {
	peer := s.PeerOf(p)
	if peer == nil {
		return image.ViewStamp{}
	}
	return s.judge.View(s.Seats[p].View(), s.Done()+1, peer.Own.rtt, peer.Own.delay)
}

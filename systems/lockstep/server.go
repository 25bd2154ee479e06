package lockstep

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/limit"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/authority"
	"tendon/systems/vote"
)

// Server is lockstep's half on the server. The frames (log.first − 1, Done] are in the log and final. Those ≤ sync were
// announced to the peers. running is frame Done + 1, into which operations are stamped as they arrive. The world is in
// State(Done), or of an earlier frame where it is computed on demand.
type Server struct {
	authority.Server[*Server, link]
	settings Config
	always   bool // the world is computed as frames end

	log     *log
	running frame
	before  []ecs.InputBytes // of frame Done
	behind  cursor           // of the frame that a world on demand is in
	reader  cursor           // for looking up

	idle    map[ecs.Player]ecs.InputBytes // of players who are connected and not in the match yet
	members image.PlayerSet               // in the match after frame Done
	orders  rollback.OrderLog             // of frames that have not ended
	stamped placed                        // the last order
	relayed int                           // operations of the running frame that were sent by themselves
	syncs   syncs
	waits   waits
	now     systems.Time // of the newest call
	votes   *vote.Adjudicator

	valid []ecs.InputBytes // scratch: inputs of the frame that a world on demand computes
	ops   opsMessage       // scratch: the message that is read
}

// waits is how a server that does not end its frames at once waits for players.
type waits struct {
	held   bool                           // the running frame waits
	since  systems.Time                   // when it began to
	asked  systems.Time                   // when Hold was last called
	waited [image.MaxPlayers]systems.Time // time waited for a player, less a tenth of the time since
}

// link is what lockstep adds to a peer. A peer's Acked is the newest frame that it holds.
//
// The frames up to sent were sent on the reliable channel, each once. The following ones are sent there, too, until there
// are none left. Then the peer is near: it receives syncs as datagrams, each with all frames after max(Acked, sent).
type link struct {
	sent   ecs.Tick
	near   bool
	synced ecs.Tick // end of the last sync that it was sent
	whole  ecs.Tick // the last frame of which it was not sent all operations by themselves
	flight authority.Flight

	live     bool         // it has caught up and plays
	through  ecs.Tick     // its operations are complete up to here
	stalled  int          // see opsMessage
	operated uint32       // number of its last operation that was stamped
	repeated systems.Time // when the last sync was sent again
	received systems.Time // when its last message of operations arrived

	changes limit.Limiter[ecs.Tick] // of its input, in half ticks
}

type peer = authority.Peer[link]

var serverSystems = []systems.System[*Server]{
	{Name: "operations", Kind: kindOps, Accept: (*Server).receiveOps}, // reliable too, for peers that no datagram reaches
	{Name: "checksums", Kind: kindHash, Reliable: true, Accept: (*Server).receiveHash},
	{Name: "results", Kind: kindResult, Reliable: true, Accept: (*Server).receiveResult},
	{Name: "frame", Phase: systems.Reconcile, Run: (*Server).endFrame},
	{Name: "next frame", Phase: systems.Present, Run: (*Server).beginFrame},
	{Name: "log", Phase: systems.Present, Run: (*Server).trim},
	{Name: "intervals", Phase: systems.Present, Run: (*Server).announce},
	{Name: "votes", Phase: systems.Present, Run: func(s *Server) {
		if !s.Step.Adopted {
			s.votes.Step(s.now)
		}
	}},
	{Name: "syncs", Phase: systems.Send, Run: (*Server).sendSyncs},
}

// redundant is the most frames that a datagram repeats: twice as many as are unacknowledged at a round trip of two seconds
// and 60 frames per second. A peer that is further behind is sent the rest over the reliable channel.
const redundant = 256

var (
	_ systems.Server = (*Server)(nil)
	_ systems.Waiter = (*Server)(nil)
	_ systems.Voter  = (*Server)(nil)
)

func newServer(settings Config, c systems.ServerConfig) (systems.Server, error) {
	settings, err := settings.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{settings: settings}
	err = s.Init(authority.Config[*Server, link]{Name: "lockstep", Malformed: ErrMessage, Server: c, Context: s, Systems: serverSystems,
		SaveEvery: vote.Every, Votes: true,
		Hooks: authority.Hooks[link]{Opened: s.opened, Simulate: s.simulate, Oldest: func() ecs.Tick { return s.log.first - 1 }}})
	if err != nil {
		return nil, err
	}
	game := s.Game
	if err := checkGame(game); err != nil {
		return nil, err
	}
	if most := 2 * systems.Second / systems.Time(game.TickRate); settings.Wait > most {
		want := fmt.Sprintf("choose at most two frames' time, which is %s at %d ticks per second", duration(most), game.TickRate)
		return nil, &FieldError{"Wait", duration(settings.Wait), want}
	}
	s.always = !settings.OnDemand || c.States || game.Validate != nil
	s.log, s.running = newLog(s.Done(), game), newFrame(game)
	s.behind.frame, s.reader.frame = newFrame(game), newFrame(game)
	s.idle, s.members = map[ecs.Player]ecs.InputBytes{}, s.World().Players()
	s.syncs = syncs{sync: s.Done(), interval: interval{n: settings.Interval}, digests: rollback.NewRing[uint32](redundant)}
	s.before = append(s.before, s.Step.Inputs...)
	s.valid = make([]ecs.InputBytes, game.MaxPlayers)
	s.ReadPast(0, s.past)
	s.running.follow(s.before, game)
	copy(s.behind.inputs, s.before)
	s.behind.at = s.Done()
	s.votes = vote.NewAdjudicator(votedMatch{s}, s.always,
		vote.Config{Deadline: settings.VoteTime, AuditPerMille: settings.Audits, DissentReplays: settings.DissentReplays, Seed: settings.AuditSeed})
	return s, nil
}

func (s *Server) past(t *systems.FinalTick, before, _ []ecs.InputBytes) {
	if s.log.last != t.Tick-1 {
		s.log.reset(t.Tick - 1)
	}
	s.log.add(&frame{inputs: t.Inputs, orders: t.Orders}, before)
	copy(s.before, t.Inputs)
}

// opened resets what was sent to a peer. A peer that was open has loaded an image, and goes on numbering its operations.
func (s *Server) opened(p *peer, again bool) {
	old := p.Own
	p.Own = link{sent: p.Opened, synced: p.Opened, flight: old.flight, received: s.Sending.Now, changes: old.changes}
	p.Own.flight.Clear()
	if again {
		p.Own.operated, p.Own.repeated = old.operated, old.repeated
	} else {
		p.Own.changes = limit.New[ecs.Tick](1, authority.MaxMessages)
	}
	if p.Seat >= 0 {
		if !again {
			delete(s.idle, p.Player())
		}
		s.votes.Hashes.Resynced(p.Player())
	}
	s.pass(s.Sending.Now)
}

// pass lets the clock go on to now. It never goes back.
func (s *Server) pass(now systems.Time) { s.now = max(s.now, now) }

// Keep does nothing: the log keeps the frames of many minutes.
func (s *Server) Keep([]ecs.Tick) {}

// mostWaited is the longest time for which the server waits for one player.
const mostWaited = 5 * systems.Second

// Hold reports whether the running frame must not end yet, because a player who is connected has not sent the operations
// in it. It waits at most mostWaited for one player, until their operations are complete again.
func (s *Server) Hold(now systems.Time) bool {
	passed := now - s.waits.asked
	s.now, s.waits.asked = now, now
	if s.settings.Closing == Optimistic {
		return false
	}
	awaited := false // operations of a live player are missing
	for i := range s.Peers {
		p := &s.Peers[i]
		if !p.Open || !p.Own.live || p.Seat < 0 || !s.members.Has(p.Player()) {
			continue
		}
		waited := &s.waits.waited[p.Seat]
		switch late := p.Own.through <= s.Done(); {
		case !late:
			*waited = max(*waited-passed/10, 0)
		case *waited < mostWaited:
			awaited = true
			if s.waits.held {
				*waited += passed
			}
		}
	}
	if awaited && !s.waits.held {
		s.waits.since = now
	}
	s.waits.held = awaited
	return awaited && (s.settings.Closing == Waiting || now-s.waits.since < s.settings.Wait)
}

// Adopt ends the running frame as it is given. The error is that of a frame that Stamp would not have filled so: the code of
// a frame has no room for others.
func (s *Server) Adopt(t systems.FinalTick) error {
	bytes := 0
	for i := range t.Orders {
		o := &t.Orders[i]
		if !o.Kind.Shared() {
			return fmt.Errorf("lockstep: tick %d has an order of kind %d, which no client accepts", t.Tick, o.Kind)
		}
		bytes += len(o.Payload)
	}
	if len(t.Orders) > maxOrders || bytes > maxOrderPayload {
		return fmt.Errorf("lockstep: tick %d has %d orders of %d bytes, want at most %d of %d",
			t.Tick, len(t.Orders), bytes, maxOrders, maxOrderPayload)
	}
	if err := s.CheckTick(t); err != nil {
		return err
	}
	f := &s.running
	for _, o := range t.Orders {
		s.orders.Add(t.Tick, o)
		s.enter(&o)
	}
	clear(f.inputs)
	copy(f.inputs, t.Inputs)
	f.orders = s.orders.AppendAt(f.orders[:0], t.Tick)
	s.stamped = placed{tick: t.Tick, count: len(t.Orders)}
	s.keep(false)
	return s.Server.Adopt(t)
}

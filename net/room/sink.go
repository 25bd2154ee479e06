package room

import (
	"bytes"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/session"
	"tendon/rollback/record"
	"tendon/systems"
)

// Sink receives what happens in a room: journals, recordings, statistics and desync reports are sinks. Every function is
// optional. All run on the room's goroutine and delay the match while they run; none may call the room's methods.
//
// A room calls its sinks in the order of Config.Sinks. A Frame calls Seat for seats that become free. For each tick it calls
// Tick, and Decision if a match has a result in it. After the last tick it calls Commit, and Desync for each peer whose state
// differs. Seat and Expelled are also called while a message is received. A strategy may also call Decision when it receives votes.
type Sink struct {
	// Tick receives every final tick, in order and once, before anything about it is sent to a peer. The slices and the world are valid
	// during the call.
	Tick func(systems.FinalTick)
	// NeedState saves the state of every tick: FinalTick.State is then never nil, for all sinks. Otherwise it is nil
	// in most ticks.
	NeedState bool
	// Seat receives a seat when a client takes it and when it becomes free. A resumed match does not report the seats of
	// Config.Resume.
	Seat func(s record.Seat)
	// Resumed receives the last tick of a resumed match when the match continues, how many of its ticks clients returned, and whether
	// it is still paused.
	Resumed  func(last ecs.Tick, returned uint64, paused bool)
	Decision func(systems.Decision) // receives the result of every match in the room. The slices are valid during the call
	Desync   func(Desync)           // receives every peer whose state was found to differ from the server's, before it is sent an image
	// Expelled receives every expelled peer, before its last messages are sent.
	Expelled func(Expulsion)
	// Commit makes everything durable that this sink received. On an error the match waits: no message about the new ticks
	// leaves the room, and no further tick is computed. The sinks after this one are not called. The next Frame calls
	// Commit of all sinks again.
	//
	// Commit must not wait for a disk. It returns ErrPending while the commit is under way. The room then computes further ticks
	// and holds its messages. Each Frame and Settle calls Commit again, until it returns nil or another error. That result is for
	// everything that the sink received before the first of these calls.
	Commit func() error
}

func (r *Room) finalTick(f systems.FinalTick) {
	r.chains.add(&f)
	for i := range f.Orders {
		if f.Orders[i].Kind == image.OrderSwitch {
			r.noteSwitch(&f.Orders[i])
		}
	}
	r.pauseOrders(f.Orders, r.recovery != nil)
	for i := range r.config.Sinks {
		if s := &r.config.Sinks[i]; s.Tick != nil {
			s.Tick(f)
		}
	}
}

func (r *Room) decision(d systems.Decision) {
	d.Result = bytes.Clone(d.Result)
	r.verdicts = append(r.verdicts, d)
	for i := range r.config.Sinks {
		if s := &r.config.Sinks[i]; s.Decision != nil {
			s.Decision(d)
		}
	}
}

// The refusals that a player is sent again after a reconnect.
const (
	maxRefusals = 16                  // the newest. A client keeps at least as many numbers
	refusalTime = 30 * systems.Second // a connection that did not deliver one for so long is lost
)

// refused reports to the giver of an order that it was refused.
func (r *Room) refused(o systems.Refusal) {
	s := &r.seats[o.Player]
	if !s.Held {
		return
	}
	if len(s.refusals) == maxRefusals {
		s.refusals = slices.Delete(s.refusals, 0, 1)
	}
	m := session.Refused{Number: o.Number, Type: o.Type, Reason: o.Reason}
	s.refusals = append(s.refusals, refusal{m, r.now})
	if s.peer != none {
		r.peers[s.peer].session.SendRefused(m)
	}
}

// repeatRefusals sends a player who comes back the refusals that the last connection may not have delivered. A client that was not
// in the match has given none of these orders.
func (r *Room) repeatRefusals(p *peer, h *session.Hello) {
	if p.seat == none {
		return
	}
	s := &r.seats[p.seat]
	if h.Match != r.config.Match {
		s.refusals = nil
	}
	for _, o := range s.refusals {
		if r.now-o.at < refusalTime {
			p.session.SendRefused(o.Refused)
		}
	}
}

func (r *Room) resumes() {
	for i := range r.config.Sinks {
		if s := &r.config.Sinks[i]; s.Resumed != nil {
			s.Resumed(r.Tick(), r.stats.Adopted, r.clock.on)
		}
	}
}

// sendVerdicts sends the verdicts on matches to every peer, once their ticks are committed.
func (r *Room) sendVerdicts() {
	if r.uncommitted() {
		return
	}
	for i := range r.verdicts {
		for _, p := range r.present() {
			p.session.SendVerdict(&r.verdicts[i])
		}
	}
	clear(r.verdicts)
	r.verdicts = r.verdicts[:0]
}

func (r *Room) seatChanged(changed record.Seat) {
	for i := range r.config.Sinks {
		if s := &r.config.Sinks[i]; s.Seat != nil {
			s.Seat(changed)
		}
	}
}

// desync passes a peer that is about to be resynced to the sinks, if its state differs.
func (r *Room) desync(id systems.Peer) {
	p, st := &r.peers[id], r.strategy.PeerStats(id)
	if st.Desyncs <= p.desyncs {
		return
	}
	p.desyncs = st.Desyncs
	d := Desync{Peer: id, Seat: p.seat, Name: p.identity.Name, Differed: st.Differed, Claim: st.Claim, Strategy: r.played.Name, World: r.World()}
	for i := range r.config.Sinks {
		if s := &r.config.Sinks[i]; s.Desync != nil {
			s.Desync(d)
		}
	}
}

func (r *Room) expelled(e Expulsion) {
	for i := range r.config.Sinks {
		if s := &r.config.Sinks[i]; s.Expelled != nil {
			s.Expelled(e)
		}
	}
}

package room

import (
	"errors"
	"math"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/session"
	"tendon/rollback/record"
	"tendon/systems"
)

const none = -1 // stands for no peer and for no seat

// seat is the place of one player in the match. It is held from the Welcome of a client until its player leaves.
type seat struct {
	record.Seat
	peer   int          // none while the seat is kept for a client that lost its connection
	joined bool         // an OrderJoin was stamped, and no OrderLeave after it
	lost   systems.Time // when the connection was lost
	left   bool         // the player leaves as soon as orders can be stamped
	bot    bool         // Identity.Bot of the holder

	refusals []refusal // of the player's orders, the newest last: see Room.refused
}

// refusal is the refusal of an order, kept until the client has certainly received it.
type refusal struct {
	session.Refused
	at systems.Time
}

func freeSeat(number int) seat {
	return seat{Seat: record.Seat{Player: ecs.Player(number)}, peer: none}
}

// SeatAt returns a seat with its holder, if it is held.
func (r *Room) SeatAt(number int) record.Seat { return r.seats[number].Seat }

// sit gives a peer its seat and returns 0, or the reason why it gets none. A client that comes back takes over its seat.
func (r *Room) sit(id systems.Peer) session.Code {
	p := &r.peers[id]
	number := r.seatFor(p.identity)
	if number == none && p.identity.Seat == AnySeat {
		return session.CodeFull
	}
	if number == none {
		return session.CodeSeat
	}
	s := &r.seats[number]
	if old := s.peer; old != none {
		s.peer = none // so that the end of the old session does not free the seat
		r.peers[old].seat = none
		r.peers[old].session.End(session.CodeReplaced, "")
		r.check(systems.Peer(old))
	}
	taken := !s.Held
	s.Held, s.left, s.peer, s.Client, s.Name, s.bot = true, false, int(id), p.identity.ClientID, p.identity.Name, p.identity.Bot
	p.seat = number
	if taken {
		r.seatChanged(s.Seat)
	}
	r.sendSeat(number)
	return 0
}

// SeatOf returns the seat of a peer, −1 for none.
func (r *Room) SeatOf(id systems.Peer) int { return r.peers[id].seat }

func (r *Room) seatFor(id Identity) int {
	if id.Seat >= len(r.seats) || id.Seat < AnySeat {
		return none
	}
	free := none
	for i := range r.seats {
		s := &r.seats[i]
		switch {
		case id.Seat != AnySeat && id.Seat != i:
		case s.Held && s.Client == id.ClientID && id.ClientID != 0:
			return i
		case s.joined && !s.Held && id.Seat == AnySeat: // its player is about to leave
		case !s.Held && free == none:
			free = i
		}
	}
	return free
}

// join stamps the OrderJoin of a peer's seat with its card, if its player is not in the match yet.
func (r *Room) join(p *peer) {
	if p.seat == none || r.seats[p.seat].joined {
		return
	}
	r.seats[p.seat].joined = true
	card := image.AppendCard(nil, image.Card{Name: p.identity.Name, Data: p.identity.Data})
	r.strategy.Stamp(image.Order{Kind: image.OrderJoin, Player: ecs.Player(p.seat), Payload: card}, r.out())
}

// leave removes a peer from the match. Its seat is kept if the client may come back.
func (r *Room) leave(id systems.Peer) {
	r.shut(id)
	if r.recovery != nil {
		r.recovery.forget(id)
	}
	number := r.peers[id].seat
	if number == none {
		return
	}
	s := &r.seats[number]
	s.peer, s.lost = none, r.now
	var why *session.Error
	final := errors.As(r.peers[id].session.Err(), &why) &&
		(why.Code == session.CodeLeft || why.Code == session.CodeKicked || why.Code == session.CodeDesync)
	if r.Suspended() { // the next process keeps the seat
		return
	}
	if r.recovery != nil { // no order may be stamped, and it is not known whether the player has joined
		s.left = final
	} else if final || !s.joined {
		r.free(number)
		return
	}
	r.sendSeat(number)
}

func (r *Room) free(number int) {
	s := &r.seats[number]
	if s.joined && r.closed == 0 {
		r.strategy.Stamp(image.Order{Kind: image.OrderLeave, Player: ecs.Player(number)}, r.out())
	}
	*s = freeSeat(number)
	r.seatChanged(s.Seat)
	r.sendSeat(number)
}

// seated returns the player in a seat as clients are sent it.
func (s *seat) seated() session.Seat {
	return session.Seat{Seat: int(s.Player), Name: s.Name, Connected: s.peer != none, Bot: s.bot}
}

// sendSeat sends the player in a seat to every client.
func (r *Room) sendSeat(number int) {
	if r.closed != 0 {
		return
	}
	for _, to := range r.present() {
		to.session.SendSeat(r.seats[number].seated())
	}
}

// pingInterval is how often the round trips of the players are sent.
const pingInterval = systems.Second

// sendPings sends the round trips of all players that were measured to every client.
func (r *Room) sendPings() {
	if r.now < r.pingsAt {
		return
	}
	r.pingsAt = r.now + pingInterval
	known := false
	for i := range r.seats {
		r.pings[i] = 0
		if peer := r.seats[i].peer; peer != none {
			if rtt, ok := r.peers[peer].session.RTT(); ok {
				r.pings[i], known = uint16(min(max(rtt/(systems.Second/1000), 1), math.MaxUint16)), true
			}
		}
	}
	if !known {
		return
	}
	for _, to := range r.present() {
		to.session.SendPings(&r.pings)
	}
}

// vacate frees the seats of the players who left, and those that were kept for KeepSeat.
func (r *Room) vacate() {
	for i := range r.seats {
		if s := &r.seats[i]; s.Held && s.peer == none && r.recovery == nil && (s.left || r.now-s.lost >= r.config.KeepSeat) {
			r.free(i)
		}
	}
}

package room

import (
	"errors"

	"tendon/ecs"
	"tendon/net/session"
	"tendon/systems"
)

// nobody stands where no peer and no seat is.
const nobody = -1

// seat is one player's place in the match. It is held from when its client was welcomed until the player left.
type seat struct {
	held     bool
	peer     int // who sits here, or nobody while the seat is kept for a client that vanished
	client   uint64
	name     string
	joined   bool         // the match has the player: an OrderJoin was stamped and no OrderLeave after it
	vanished systems.Time // since when nobody sits here
	left     bool         // its player said goodbye, and leaves when orders can be stamped again
}

// sit gives a peer its seat, or says why not. A client that comes back takes its seat over.
func (r *Room) sit(id systems.Peer) session.Code {
	p := &r.peers[id]
	number := r.seatOf(p.identity)
	switch {
	case number == nobody && p.identity.Seat == AnySeat:
		return session.CodeFull
	case number == nobody:
		return session.CodeSeat
	}
	s := &r.seats[number]
	if old := s.peer; s.held && old != nobody {
		s.peer = nobody // so that its end does not touch the seat
		r.peers[old].seat = nobody
		r.peers[old].session.End(session.CodeReplaced, "")
		r.check(systems.Peer(old))
	}
	taken := !s.held
	s.held, s.left, s.peer, s.client, s.name = true, false, int(id), p.identity.ClientID, p.identity.Name
	p.seat = number
	if taken {
		r.seatChanged(number)
	}
	return 0
}

// seatOf returns the seat that a client may have, or nobody.
func (r *Room) seatOf(who Identity) int {
	if who.Seat >= len(r.seats) || who.Seat < AnySeat {
		return nobody
	}
	free := nobody
	for i := range r.seats {
		s := &r.seats[i]
		switch {
		case who.Seat != AnySeat && who.Seat != i:
		case s.held && s.client == who.ClientID && who.ClientID != 0:
			return i
		case s.joined && !s.held && who.Seat == AnySeat: // its player is about to leave
		case !s.held && free == nobody:
			free = i
		}
	}
	return free
}

// join brings a seat's player into the match, if it is not there yet.
func (r *Room) join(number int) {
	if number == nobody || r.seats[number].joined {
		return
	}
	r.seats[number].joined = true
	r.half.Stamp(ecs.Order{Kind: ecs.OrderJoin, Player: ecs.Player(number)}, r.out())
}

// leave takes a peer out of the match. Its seat is kept for a while if it may come back.
func (r *Room) leave(id systems.Peer) {
	r.shut(id)
	if r.recovery != nil {
		r.recovery.forget(id)
	}
	number := r.peers[id].seat
	if number == nobody {
		return
	}
	s := &r.seats[number]
	s.peer, s.vanished = nobody, r.now
	why := r.peers[id].session.Err()
	meant := errors.Is(why, &session.Error{Code: session.CodeLeft}) || errors.Is(why, &session.Error{Code: session.CodeKicked}) ||
		errors.Is(why, &session.Error{Code: session.CodeDesync})
	switch {
	case r.recovery != nil: // no order may be stamped, and whether it has joined is not known
		s.left = meant
	case meant || !s.joined:
		r.free(number)
	}
}

// free takes a seat's player out of the match.
func (r *Room) free(number int) {
	s := &r.seats[number]
	if s.joined && !r.closed {
		r.half.Stamp(ecs.Order{Kind: ecs.OrderLeave, Player: ecs.Player(number)}, r.out())
	}
	*s = seat{peer: nobody}
	r.seatChanged(number)
}

// SeatAt returns who holds a seat.
func (r *Room) SeatAt(number int) Seat {
	s := &r.seats[number]
	return Seat{Held: s.held, Client: s.client, Name: s.name}
}

// vacate frees the seats that were kept long enough.
func (r *Room) vacate() {
	if r.recovery != nil {
		return
	}
	for i := range r.seats {
		if s := &r.seats[i]; s.held && s.peer == nobody && (s.left || r.now-s.vanished >= r.config.KeepSeat) {
			r.free(i)
		}
	}
}

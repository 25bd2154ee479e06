package server

import "time"

// floors remembers, for clients that were here lately, which of their tokens are spent without having been used.
//
// A client's connections are counted: its epochs. A reconnect token carries the epoch of the connection that was given
// it, and is good until a later connection has acknowledged one of its own: from then on the client does not need the
// older. One that was given and is not acknowledged may never have arrived, at a client that was killed meanwhile. A
// token of a backend's that replaces a connection ends the tokens of that one at once. A client that was put out is
// raised above all its tokens, those of a backend that were issued earlier included.
//
// Its memory is bounded: when it is full the oldest is forgotten, which makes tokens good again that only their own
// client has.
type floors struct {
	of    map[uint64]floor
	order []uint64 // clients, each once, in the order in which they were entered
	limit int
}

type floor struct {
	epoch  uint32    // reconnect tokens below it are refused
	issued time.Time // tokens of a backend that were issued before it are refused; zero: none
	until  time.Time // no token that matters is good after it
}

// refuses reports whether a token is one of the past.
func (f *floors) refuses(client uint64, p *Pass) bool {
	e := f.of[client]
	if p.Reconnect {
		return p.Epoch < e.epoch
	}
	return p.Issued.Before(e.issued)
}

// next returns the number of a client's next connection.
func (f *floors) next(client uint64, p *Pass) uint32 {
	return max(f.of[client].epoch, p.Epoch) + 1
}

// raise enters a floor. One that was there is never lowered.
func (f *floors) raise(client uint64, to floor, now time.Time) {
	for len(f.order) > 0 && (len(f.order) >= f.limit || !now.Before(f.of[f.order[0]].until)) {
		delete(f.of, f.order[0])
		f.order = append(f.order[:0], f.order[1:]...)
	}
	old, known := f.of[client]
	if !known {
		f.order = append(f.order, client)
	}
	to.epoch = max(to.epoch, old.epoch)
	if to.issued.Before(old.issued) {
		to.issued = old.issued
	}
	f.of[client] = to
}

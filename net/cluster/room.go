package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Room is a room that this server owns, until one of its methods returns ErrLost. One goroutine at a time may call its methods, and any
// goroutine may call Leased.
type Room struct {
	node    *Node
	name    string
	fence   uint64    // sequence number of the claim, or of the move to this server
	last    uint64    // of the newest entry
	begin   uint64    // of the entry with which the journal begins; 0: none
	numbers uint64    // Entry.Number of the newest entry
	at      time.Time // of the last write of the former owner; after Recovered
	lost    bool

	// The journal of the former owners.
	from, before uint64   // its first entry, or 0; the last one
	known        []Stored // its entries, if they were read before the claim; until Recovered

	released bool                      // by its former owner, to any server or to this one
	trying   time.Time                 // first attempt to add the next entry; zero: none
	sent     atomic.Pointer[time.Time] // first attempt to add the newest own entry; nil before one, and after a loss or a release

	old     int    // bytes appended since the last trim
	written int    // bytes of the present Append that the log has
	first   uint64 // entry of the first of them
}

const (
	// trimAfter is the number of bytes after which the entries before the journal's beginning are removed.
	trimAfter = 4 << 20
	// trimLimit is the timeout of a removal. The next one includes its entries.
	trimLimit = 10 * time.Second
	// readPause is the time between two attempts of ReadJournal.
	readPause = 125 * time.Millisecond
)

// Name returns the name of the room.
func (r *Room) Name() string { return r.name }

// Fence returns the fencing number: every later owner of the room has a larger one.
func (r *Room) Fence() uint64 { return r.fence }

// Released reports whether the former owner released the room to this server or to any. Its journal is then complete. After Recovered, a
// release by a server that wrote nothing does not count: Released then reports whether the owner before released the room.
func (r *Room) Released() bool { return r.released }

// Written returns the time at which the former owner last wrote to the journal, after Recovered. It is by the clock of the store.
func (r *Room) Written() time.Time { return r.at }

// Leased reports whether no other server could own the room at the time of the call. An owner may confirm ticks before Append returns only
// while it is true. It becomes true with an entry that was first sent half a lease after the first accepted announcement. It becomes false
// if no announcement is accepted for a lease. It is also false after a gap of half a lease between announcements, until such an entry follows.
//
// A claim of a room that was not given up requires two observations: an own announcement of the last half of a lease, and none of the owner
// for a lease. Announcements have one order, so the claimant has observed all that precede its own. If it read the log before the
// entry of the owner, the store refuses the claim. The clocks of all servers must advance at the same rate, also while a process is stopped.
func (r *Room) Leased() bool {
	sent := r.sent.Load()
	return sent != nil && r.node.leased(*sent)
}

// Recovered returns the journal of the room's former owners: the bytes since its newest restart. It is nil for a new match.
func (r *Room) Recovered(ctx context.Context) ([]byte, error) {
	known := r.known
	r.known = nil
	if r.from == 0 {
		return nil, nil
	}
	if journal, err := r.journal(known); err == nil {
		return journal, nil
	}
	return readJournal(ctx, r.name, r.node.config.Lease/8, func() ([]byte, error) {
		journal, err := r.read(ctx)
		if errors.Is(err, ErrJournal) {
			if _, at, unread := r.node.config.Store.Last(ctx, r.name); unread == nil && at > r.fence { // a later owner may have trimmed the log
				r.lose()
				return nil, fmt.Errorf("%w: %s", ErrLost, r.name)
			}
		}
		return journal, err
	})
}

// ReadJournal returns the present journal of a room: the bytes since its newest restart. It is nil if the room has none. ReadJournal
// only reads the store, so the owner of the room continues. It fails when ctx is done, or if entries are missing.
func ReadJournal(ctx context.Context, s Store, room string) ([]byte, error) {
	return readJournal(ctx, room, readPause, func() ([]byte, error) {
		last, at, err := s.Last(ctx, room) // again at each attempt: the owner may have restarted the journal and trimmed the log
		if err != nil || at == 0 || begin(&last, at) == 0 {
			return nil, err
		}
		r := Room{node: &Node{config: Config{Store: s}}, name: room, from: begin(&last, at), before: at} // for read only
		return r.read(ctx)
	})
}

// readJournal calls read until it succeeds or returns ErrLost, until entries were missing eight times, or until ctx is done. It waits between
// the calls.
func readJournal(ctx context.Context, room string, wait time.Duration, read func() ([]byte, error)) ([]byte, error) {
	for missing := 0; ; {
		journal, err := read()
		if err == nil || errors.Is(err, ErrLost) {
			return journal, err
		}
		if errors.Is(err, ErrJournal) {
			if missing++; missing == 8 { // a copy of the log may be behind for a moment
				return nil, fmt.Errorf("%w: room %s", err, room)
			}
		}
		if paused := pause(ctx, wait); paused != nil {
			return nil, fmt.Errorf("%w (%w)", err, paused)
		}
	}
}

// read reads the journal before the claim.
func (r *Room) read(ctx context.Context) ([]byte, error) {
	var log []Stored
	for e, err := range r.node.config.Store.Read(ctx, r.name, r.from, r.before) {
		if err != nil {
			return nil, err
		}
		log = append(log, e)
	}
	return r.journal(log)
}

// journal returns the journal before the claim, and checks that no entry is missing.
func (r *Room) journal(log []Stored) (journal []byte, err error) {
	from, before := r.from, uint64(0)
	complete := false               // the beginning is complete; later parts belong to one that never was
	wrote, released := false, false // the current owner wrote; the last owner that wrote released the room
	for _, e := range log {
		if before == 0 && e.Sequence != from || before != 0 && e.Before != before {
			return nil, fmt.Errorf("%w: entry %d is missing", ErrJournal, max(before, from))
		}
		before = e.Sequence
		switch {
		case e.Kind == KindClaim:
			wrote = false
		case e.releases():
			wrote, released = false, released || wrote || len(e.Body) > 0
		default:
			wrote, released = true, false
		}
		if e.Kind == KindData || e.releases() {
			r.at = e.At
		}
		if e.Kind == KindPart && complete {
			continue
		}
		complete = complete || e.Kind == KindData
		journal = append(journal, e.Body...)
	}
	if before != r.before {
		return nil, fmt.Errorf("%w: it ends with entry %d, not %d", ErrJournal, before, r.before)
	}
	r.released = r.released && released
	return journal, nil
}

// Append appends bytes to the room's journal. begins restarts the journal with these bytes: earlier bytes are not part of it any
// more. The first bytes of a match always restart it. When Append returns nil, the store has the bytes. After an error that does
// not wrap ErrLost, call Append again with the same arguments.
func (r *Room) Append(ctx context.Context, b []byte, begins bool) error {
	begins = begins || r.begin == 0
	for {
		part := b[r.written:]
		part = part[:min(len(part), r.node.body)]
		e := Entry{Kind: KindData, From: r.begin, Body: part}
		whole := r.written+len(part) == len(b)
		switch {
		case begins && !whole:
			e.Kind = KindPart
		case begins && r.written > 0:
			e.From = r.first
		case begins:
			e.From = itself
		}
		at, err := r.append(ctx, &e)
		if err != nil {
			return err
		}
		if r.written == 0 {
			r.first = at
		}
		r.written += len(part)
		r.old += len(part) + 32 // an entry has about so many other bytes
		if whole {
			if begins {
				r.begin = r.first
				r.trim(r.begin, r.node.trim)
			}
			r.written = 0
			return nil
		}
	}
}

// trim removes the entries below before, without waiting for the store, if they have at least a number of bytes.
func (r *Room) trim(before uint64, least int) {
	if r.old < least {
		return
	}
	r.old = 0
	store := r.node.config.Store
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), trimLimit)
		defer cancel()
		_ = store.Trim(ctx, r.name, before)
	}()
}

// Release appends the last bytes to the room's journal, at most MaxBody, and ends the ownership of the room. The server that owns it
// next continues the match. last must be empty if nothing was appended before. After an error that does not wrap ErrLost or ErrEntry, call
// Release again with the same arguments.
//
// next is the ID of the server to which the room moves. Optional. That server owns the room without a claim, and must already wait in
// Claim.
func (r *Room) Release(ctx context.Context, last []byte, next string) error {
	e := Entry{Kind: KindRelease, From: r.begin, Body: last}
	if next != "" {
		e.Kind, e.Next = KindMove, next
	}
	return r.leave(ctx, e)
}

// End ends the match. The next claim of the room begins with an empty journal.
func (r *Room) End(ctx context.Context) error {
	return r.leave(ctx, Entry{Kind: KindEnd})
}

func (r *Room) leave(ctx context.Context, e Entry) error {
	r.sent.Store(nil)
	at, err := r.append(ctx, &e)
	if err != nil {
		return err
	}
	if e.Kind == KindEnd {
		r.trim(at, 0)
	}
	r.lose()
	return nil
}

func (r *Room) lose() {
	r.lost = true
	r.sent.Store(nil)
}

// append adds an entry after the newest one.
func (r *Room) append(ctx context.Context, e *Entry) (at uint64, err error) {
	if r.lost {
		return 0, fmt.Errorf("%w: %s", ErrLost, r.name)
	}
	e.Owner, e.Fence, e.Number, e.Before = r.node.self.ID, r.fence, r.numbers+1, r.last
	if r.trying.IsZero() {
		r.trying = time.Now()
	}
	if at, err = r.node.append(ctx, r.name, e); err != nil {
		if errors.Is(err, ErrConflict) {
			r.lose()
			err = fmt.Errorf("%w: %s", ErrLost, r.name)
		}
		return 0, err
	}
	sent := r.trying
	r.trying, r.numbers, r.last = time.Time{}, e.Number, at
	if e.Kind == KindData || e.Kind == KindPart {
		r.sent.Store(&sent)
	}
	return at, nil
}

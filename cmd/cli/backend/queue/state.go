package queue

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Config describes a State.
type Config struct {
	// Queues are the queues, in the order of passes. Required.
	Queues []Queue
	// MaxTickets is the maximum number of tickets, with those that have ended and are kept. 0: 100,000.
	MaxTickets int
	// Keep is how long a ticket is kept after it was matched or cancelled, and a room requests players, in ms. 0: 2 minutes.
	Keep int64
	// Prefix begins the names of rooms. It must differ from that of every other log, so that names are not used twice.
	// A snapshot replaces it.
	Prefix string
}

// Queue is a queue of tickets.
type Queue struct {
	Name    string
	Players int   // seats of a match
	Match   Match // nil: Fill
}

// The states of a ticket.
const (
	Queued    = "queued"
	Matched   = "matched"
	Cancelled = "cancelled"
)

// Status is the state of a ticket.
type Status struct {
	Ticket *Ticket
	State  string // Queued, Matched or Cancelled
	Reason string // of a cancellation
	Room   string // of a match
	Server string
	Seat   int   // or AnySeat
	Ended  int64 // when the ticket was matched or cancelled, in ms since 1970
}

// State is the state of all tickets and matches. One goroutine at a time may use it.
type State struct {
	config Config
	at     int64
	rooms  uint64 // that were made
	all    []*entry
	byID   map[string]*entry
	keys   map[requestKey]*entry
	queued map[place]*entry
	held   map[string]int        // tickets, by player
	party  map[partyKey][]*entry // that wait
	waits  map[string][]*entry   // by queue, in the order of tickets; some do not wait any more
	ended  []*entry              // in the order of their ends
	open   []Open
	bans   []Ban // at most one for each client, in the order of their numbers

	changed []*entry
}

type entry struct {
	Status
}

type (
	requestKey struct{ player, queue, key string }
	place      struct{ player, queue string }
	partyKey   struct{ queue, party string }
)

// New returns an empty state.
func New(c Config) *State {
	c.MaxTickets, c.Keep = cmp.Or(c.MaxTickets, 100_000), cmp.Or(c.Keep, 120_000)
	s := &State{config: c}
	s.clear()
	return s
}

func (s *State) clear() {
	*s = State{config: s.config, byID: map[string]*entry{}, keys: map[requestKey]*entry{}, queued: map[place]*entry{},
		held: map[string]int{}, party: map[partyKey][]*entry{}, waits: map[string][]*entry{}}
}

// Load returns the state after the events of a log.
func Load(c Config, log []byte) (*State, error) {
	s := New(c)
	for e, err := range Events(log) {
		if err == nil {
			err = s.Apply(e)
		}
		if err != nil {
			return nil, err
		}
	}
	s.Changed()
	return s, nil
}

// Errors of requests.
var (
	ErrQueue   = errors.New("there is no such queue")
	ErrFull    = errors.New("there are too many tickets: try again later")
	ErrOften   = fmt.Errorf("the player has %d tickets, including those that ended in the last two minutes: try again later", maxHeld)
	ErrParty   = errors.New("the party does not fit")
	ErrTicket  = errors.New("there is no such ticket")
	ErrMatched = errors.New("the ticket is matched already: get its token")
)

// OpenError is the error of a ticket whose player waits in the queue already.
type OpenError struct{ ID string }

// Error names the ticket.
func (e *OpenError) Error() string {
	return fmt.Sprintf("the player waits in this queue already, with ticket %s: cancel it first", e.ID)
}

// Get returns the state of a ticket.
func (s *State) Get(id string) (Status, bool) {
	e := s.byID[id]
	if e == nil {
		return Status{}, false
	}
	return e.Status, true
}

// Missing returns how many players of a ticket's party have no ticket yet.
func (s *State) Missing(t *Ticket) int {
	if t.Party == "" {
		return 0
	}
	return max(t.PartySize-len(s.party[partyKey{t.Queue, t.Party}]), 0)
}

// Len returns the number of tickets in a state.
func (s *State) Len(state string) (n int) {
	if state == Queued {
		return len(s.queued)
	}
	for _, e := range s.ended {
		if e.State == state {
			n++
		}
	}
	return n
}

// Queues returns the number of waiting tickets of each queue, in the order of the Config.
func (s *State) Queues() []int {
	list := make([]int, len(s.config.Queues))
	for i, q := range s.config.Queues {
		for _, e := range s.waits[q.Name] {
			if e.State == Queued {
				list[i]++
			}
		}
	}
	return list
}

// queue returns a queue of the Config.
func (s *State) queue(name string) (Queue, error) {
	i := slices.IndexFunc(s.config.Queues, func(q Queue) bool { return q.Name == name })
	if i < 0 {
		return Queue{}, fmt.Errorf("%w: %.40q", ErrQueue, name)
	}
	return s.config.Queues[i], nil
}

// maxHeld is the maximum number of tickets of one player, with those that have ended and are kept.
const maxHeld = 16

// Submit checks a ticket. If it is a duplicate, Submit returns the earlier ticket. Otherwise it returns the event that adds it. The
// error is a BannedError if the player is banned.
func (s *State) Submit(now int64, t Ticket) (earlier *Ticket, event *Event, err error) {
	q, err := s.queue(t.Queue)
	if err != nil {
		return nil, nil, err
	}
	if err := s.Banned(now, t.Client); err != nil {
		return nil, nil, err
	}
	if e := s.keys[requestKey{t.Player, t.Queue, t.Key}]; e != nil && t.Key != "" {
		return e.Ticket, nil, nil
	}
	if e := s.queued[place{t.Player, t.Queue}]; e != nil {
		return nil, nil, &OpenError{e.Ticket.ID}
	}
	if s.held[t.Player] >= maxHeld {
		return nil, nil, ErrOften
	}
	if len(s.byID) >= s.config.MaxTickets {
		return nil, nil, ErrFull
	}
	if t.Party != "" || t.PartySize != 0 {
		switch {
		case t.Party == "":
			return nil, nil, fmt.Errorf("%w: party_size is %d, but party has no name", ErrParty, t.PartySize)
		case t.PartySize < 2 || t.PartySize > q.Players:
			return nil, nil, fmt.Errorf("%w: party_size is %d: want 2 to %d", ErrParty, t.PartySize, q.Players)
		}
		if members := s.party[partyKey{t.Queue, t.Party}]; len(members) > 0 {
			if size := members[0].Ticket.PartySize; size != t.PartySize {
				return nil, nil, fmt.Errorf("%w: its first player gave the party_size %d", ErrParty, size)
			} else if len(members) == size {
				return nil, nil, fmt.Errorf("%w: all %d players are there", ErrParty, size)
			}
		}
	}
	at := max(s.at, now)
	t.Since = at
	return nil, &Event{Kind: KindTicket, At: at, Ticket: &t}, nil
}

// Cancel returns the event that ends the wait of a ticket. It is nil if the ticket is cancelled already.
func (s *State) Cancel(now int64, id, reason string) (*Event, error) {
	e := s.byID[id]
	switch {
	case e == nil:
		return nil, ErrTicket
	case e.State == Matched:
		return nil, ErrMatched
	case e.State == Cancelled:
		return nil, nil
	}
	return &Event{Kind: KindCancel, At: max(s.at, now), ID: id, Reason: reason}, nil
}

// Backfill returns the event by which a room requests players of a queue, or with 0 seats ends its request. since is in ms
// since 1970. Players who were matched with the room after it may not be connected yet, so Backfill subtracts their seats.
func (s *State) Backfill(now int64, o Open, since int64) (*Event, error) {
	q, err := s.queue(o.Queue)
	if err != nil {
		return nil, err
	}
	if o.Seats < 0 || o.Seats > q.Players {
		return nil, fmt.Errorf("seats is %d: want 0 to %d", o.Seats, q.Players)
	}
	o.Since = max(s.at, now)
	for _, t := range s.ended {
		if t.State == Matched && t.Room == o.Room && t.Seat == AnySeat && t.Ended > since && o.Seats > 0 {
			o.Seats--
		}
	}
	return &Event{Kind: KindBackfill, At: o.Since, Open: &o}, nil
}

// Move returns the event by which a room is on another server, for example because its server died before a player joined.
func (s *State) Move(now int64, room, server string) *Event {
	return &Event{Kind: KindMove, At: max(s.at, now), Matches: []Made{{Room: room, Server: server}}}
}

// Expire returns an event that removes tickets whose time is over, or nil if there are none.
func (s *State) Expire(now int64) *Event {
	if len(s.ended) > 0 && s.ended[0].Ended+s.config.Keep <= now || len(s.open) > 0 && s.open[0].Since+s.config.Keep <= now {
		return &Event{Kind: KindTime, At: max(s.at, now)}
	}
	return nil
}

// Resume prepares a loaded state for use. The time since the last event does not count for ended tickets, because their players
// could not read them. Tickets that do not fit the queues of the Config are cancelled. It returns no events: store a Snapshot afterwards.
func (s *State) Resume(now int64) error {
	now = max(s.at, now)
	for _, e := range s.ended { // before an event removes them
		e.Ended += now - s.at
	}
	for _, t := range s.All() {
		if t.State != Queued {
			continue
		}
		q, err := s.queue(t.Ticket.Queue)
		if err == nil && t.Ticket.PartySize > q.Players {
			err = fmt.Errorf("%w: a match of the queue has %d players now", ErrParty, q.Players)
		}
		if err == nil {
			continue
		}
		if err := s.Apply(&Event{Kind: KindCancel, At: now, ID: t.Ticket.ID, Reason: err.Error()}); err != nil {
			return err
		}
	}
	return nil
}

// Changed returns the tickets that changed since the last call.
func (s *State) Changed() []Status {
	list := make([]Status, len(s.changed))
	for i, e := range s.changed {
		list[i] = e.Status
	}
	s.changed = s.changed[:0]
	return list
}

// All returns all tickets, in the order in which they were made.
func (s *State) All() []Status {
	s.compact()
	list := make([]Status, len(s.all))
	for i, e := range s.all {
		list[i] = e.Status
	}
	return list
}

// Open returns the number of rooms that request players, not counting the room named except.
func (s *State) Open(except string) (n int) {
	for _, o := range s.open {
		if o.Room != except {
			n++
		}
	}
	return n
}

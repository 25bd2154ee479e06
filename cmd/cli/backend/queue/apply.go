package queue

import (
	"fmt"
	"slices"
)

// Apply changes the state by an event. An event that does not fit is an error, which wraps ErrLog; the state is then unusable.
func (s *State) Apply(e *Event) error {
	if e.At < s.at {
		return fmt.Errorf("%w: an event goes back in time, from %d to %d", ErrLog, s.at, e.At)
	}
	s.at = e.At
	if err := s.apply(e); err != nil {
		return fmt.Errorf("%w: an event of kind %q: %w", ErrLog, e.Kind, err)
	}
	s.expire()
	return nil
}

func (s *State) apply(e *Event) error {
	switch {
	case e.Kind == KindTicket && e.Ticket != nil:
		return s.add(Status{Ticket: e.Ticket, State: Queued})
	case e.Kind == KindCancel:
		t := s.byID[e.ID]
		if t == nil || t.State != Queued {
			return fmt.Errorf("ticket %.40q does not wait", e.ID)
		}
		s.end(t, Cancelled)
		t.Reason = e.Reason
	case e.Kind == KindPass:
		for i := range e.Matches {
			if err := s.match(e, &e.Matches[i]); err != nil {
				return err
			}
		}
	case e.Kind == KindBackfill && e.Open != nil:
		s.open = slices.DeleteFunc(s.open, func(o Open) bool { return o.Room == e.Open.Room })
		if e.Open.Seats > 0 {
			s.open = append(s.open, *e.Open)
		}
	case e.Kind == KindMove && len(e.Matches) == 1:
		s.move(e.Matches[0].Room, e.Matches[0].Server)
	case e.Kind == KindBan && e.Ban != nil:
		s.ban(e.Ban)
	case e.Kind == KindTime:
	case e.Kind == KindSnapshot && e.Snapshot != nil:
		return s.restore(e.Snapshot)
	default:
		return fmt.Errorf("the event is unknown or not complete")
	}
	return nil
}

// add adds a ticket.
func (s *State) add(status Status) error {
	t := status.Ticket
	if s.byID[t.ID] != nil {
		return fmt.Errorf("ticket %.40q exists", t.ID)
	}
	e := &entry{Status: status}
	s.all = append(s.all, e)
	s.byID[t.ID] = e
	s.held[t.Player]++
	if t.Key != "" {
		s.keys[requestKey{t.Player, t.Queue, t.Key}] = e
	}
	if e.State != Queued {
		s.ended = append(s.ended, e)
		return nil
	}
	at := place{t.Player, t.Queue}
	if s.queued[at] != nil {
		return fmt.Errorf("player %.40q waits twice", t.Player)
	}
	s.queued[at] = e
	s.waits[t.Queue] = append(s.waits[t.Queue], e)
	if t.Party != "" {
		k := partyKey{t.Queue, t.Party}
		s.party[k] = append(s.party[k], e)
		for _, member := range s.party[k] { // each of them waits for fewer players now
			s.changed = append(s.changed, member)
		}
		return nil
	}
	s.changed = append(s.changed, e)
	return nil
}

// end ends the wait of a ticket.
func (s *State) end(e *entry, state string) {
	e.State, e.Ended = state, s.at
	t := e.Ticket
	delete(s.queued, place{t.Player, t.Queue})
	if t.Party != "" {
		k := partyKey{t.Queue, t.Party}
		members := slices.DeleteFunc(s.party[k], func(m *entry) bool { return m == e })
		if len(members) == 0 {
			delete(s.party, k)
		} else {
			s.party[k] = members
			if state == Cancelled {
				s.changed = append(s.changed, members...)
			}
		}
	}
	s.ended = append(s.ended, e)
	s.changed = append(s.changed, e)
}

// match gives the tickets of a match their seats.
func (s *State) match(e *Event, m *Made) error {
	if m.Backfill {
		i := slices.IndexFunc(s.open, func(o Open) bool { return o.Room == m.Room && o.Queue == e.Queue })
		if i < 0 || s.open[i].Seats < len(m.Tickets) {
			return fmt.Errorf("room %.40q has no free seats", m.Room)
		}
		if s.open[i].Seats -= len(m.Tickets); s.open[i].Seats == 0 {
			s.open = slices.Delete(s.open, i, i+1)
		}
	} else {
		if name := s.name(s.rooms); m.Room != name {
			return fmt.Errorf("room %.40q, want %s", m.Room, name)
		}
		s.rooms++
	}
	for i, id := range m.Tickets {
		t := s.byID[id]
		if t == nil || t.State != Queued || t.Ticket.Queue != e.Queue {
			return fmt.Errorf("ticket %.40q does not wait in queue %.40q", id, e.Queue)
		}
		s.end(t, Matched)
		t.Room, t.Server, t.Seat = m.Room, m.Server, AnySeat
		if m.FirstSeat != AnySeat {
			t.Seat = m.FirstSeat + i
		}
	}
	return nil
}

// move changes the server of the tickets of a room, and keeps them as if they were matched now.
func (s *State) move(room, server string) {
	var moved []*entry
	s.ended = slices.DeleteFunc(s.ended, func(t *entry) bool {
		if t.State != Matched || t.Room != room {
			return false
		}
		t.Server, t.Ended = server, s.at
		moved = append(moved, t)
		return true
	})
	s.ended, s.changed = append(s.ended, moved...), append(s.changed, moved...)
	for i := range s.open {
		if s.open[i].Room == room {
			s.open[i].Server = server
		}
	}
}

// ban replaces the ban of a client, and cancels its tickets. There are none at the end of a ban.
func (s *State) ban(b *Ban) {
	s.bans = slices.DeleteFunc(s.bans, func(old Ban) bool { return old.Client == b.Client || old.Until <= s.at })
	if i := slices.IndexFunc(s.bans, func(b Ban) bool { return b.Ended }); i >= 0 && len(s.bans) >= 2*maxBans {
		s.bans = slices.Delete(s.bans, i, i+1)
	}
	s.bans = append(s.bans, *b)
	for _, e := range s.all {
		if e.State == Queued && e.Ticket.Client == b.Client {
			s.end(e, Cancelled)
			e.Reason = (&BannedError{*b}).Error()
		}
	}
}

// expire removes tickets and requests of rooms that have expired.
func (s *State) expire() {
	n := 0
	for ; n < len(s.ended) && s.ended[n].Ended+s.config.Keep <= s.at; n++ {
		e := s.ended[n]
		delete(s.byID, e.Ticket.ID)
		if s.held[e.Ticket.Player]--; s.held[e.Ticket.Player] == 0 {
			delete(s.held, e.Ticket.Player)
		}
		if k := (requestKey{e.Ticket.Player, e.Ticket.Queue, e.Ticket.Key}); s.keys[k] == e {
			delete(s.keys, k)
		}
		e.State = ""
		s.changed = append(s.changed, e)
	}
	s.ended = slices.Delete(s.ended, 0, n)
	if len(s.all) > 64 && len(s.all) > 2*len(s.byID) {
		s.compact()
	}
	s.open = slices.DeleteFunc(s.open, func(o Open) bool { return o.Since+s.config.Keep <= s.at })
}

func (s *State) compact() {
	s.all = slices.DeleteFunc(s.all, func(e *entry) bool { return e.State == "" })
}

// snapshot is a state in a log.
type snapshot struct {
	Prefix  string    `json:"prefix"`
	Rooms   uint64    `json:"rooms"`
	Waiting []*Ticket `json:"waiting,omitempty"`
	Ended   []ended   `json:"ended,omitempty"` // in the order of their ends
	Open    []Open    `json:"open,omitempty"`
	Bans    []Ban     `json:"bans,omitempty"`
}

type ended struct {
	Ticket *Ticket `json:"ticket"`
	State  string  `json:"state"`
	Reason string  `json:"reason,omitempty"`
	Room   string  `json:"room,omitempty"`
	Server string  `json:"server,omitempty"`
	Seat   int     `json:"seat"`
	Ended  int64   `json:"ended"`
}

// Snapshot returns an event that replaces all events before.
func (s *State) Snapshot() *Event {
	p := &snapshot{Prefix: s.config.Prefix, Rooms: s.rooms, Open: s.open, Bans: s.bans}
	s.compact()
	for _, e := range s.all {
		if e.State == Queued {
			p.Waiting = append(p.Waiting, e.Ticket)
		}
	}
	for _, e := range s.ended {
		p.Ended = append(p.Ended, ended{e.Ticket, e.State, e.Reason, e.Room, e.Server, e.Seat, e.Ended})
	}
	return &Event{Kind: KindSnapshot, At: s.at, Snapshot: p}
}

func (s *State) restore(p *snapshot) error {
	at, changed := s.at, s.changed
	s.config.Prefix = p.Prefix
	s.clear()
	s.at, s.changed, s.rooms, s.open, s.bans = at, changed, p.Rooms, slices.Clone(p.Open), slices.Clone(p.Bans)
	for _, t := range p.Waiting {
		if t == nil {
			return fmt.Errorf("a ticket is missing")
		}
		if err := s.add(Status{Ticket: t, State: Queued}); err != nil {
			return err
		}
	}
	for _, e := range p.Ended {
		if e.Ticket == nil || e.State != Matched && e.State != Cancelled {
			return fmt.Errorf("an ended ticket is not complete")
		}
		if err := s.add(Status{e.Ticket, e.State, e.Reason, e.Room, e.Server, e.Seat, e.Ended}); err != nil {
			return err
		}
	}
	return nil
}

// Replay applies the events of a log, and calls the match functions again for every pass. It returns an error if one of them returns
// other matches than the log has. The log of a pass has only the number of proposed new rooms that were not made.
func Replay(c Config, log []byte) (s *State, passes int, err error) {
	s = New(c)
	for e, err := range Events(log) {
		if err != nil {
			return nil, passes, err
		}
		if e.Kind == KindPass {
			passes++
			if err := s.again(e); err != nil {
				return nil, passes, err
			}
		}
		if err := s.Apply(e); err != nil {
			return nil, passes, err
		}
		s.Changed()
	}
	return s, passes, nil
}

// ErrDiffers is wrapped by the error of Replay about a match function that returns other matches than the log has.
var ErrDiffers = fmt.Errorf("queue: the match function returns other matches than the log has")

func (s *State) again(e *Event) error {
	q, err := s.queue(e.Queue)
	if err != nil {
		return err
	}
	all, err := s.propose(&q, e.At)
	if err != nil {
		return err
	}
	list, left := e.Matches, e.Left
	for _, m := range all {
		same := len(list) > 0 && slices.Equal(m.Tickets, list[0].Tickets) && m.Backfill == list[0].Backfill && (!m.Backfill || m.Room == list[0].Room)
		switch {
		case same:
			list = list[1:]
		case m.Backfill || left == 0:
			return fmt.Errorf("%w: at %d ms, the function returned tickets %v for room %q, which the log does not have", ErrDiffers, e.At, m.Tickets, m.Room)
		default:
			left--
		}
	}
	if len(list) > 0 {
		return fmt.Errorf("%w: the log has room %s with tickets %v", ErrDiffers, list[0].Room, list[0].Tickets)
	}
	if left > 0 {
		return fmt.Errorf("%w: at %d ms, the log has %d more matches that were not made", ErrDiffers, e.At, left)
	}
	return nil
}

package queue

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// view returns a queue as its match function sees it, with the entries of each group.
func (s *State) view(q *Queue, now int64) (v View, groups [][]*entry) {
	v = View{Queue: q.Name, Now: now, Players: q.Players}
	waits := slices.DeleteFunc(s.waits[q.Name], func(e *entry) bool { return e.State != Queued })
	s.waits[q.Name] = waits
	v.Groups, groups = make([]Group, 0, len(waits)), make([][]*entry, 0, len(waits))
	for _, e := range waits {
		members := []*entry{e}
		if e.Ticket.Party != "" {
			members = s.party[partyKey{q.Name, e.Ticket.Party}]
			if len(members) < e.Ticket.PartySize || members[len(members)-1] != e { // the last one completes the group
				continue
			}
		}
		g := Group{Tickets: make([]*Ticket, len(members)), Since: members[0].Ticket.Since}
		for i, m := range members {
			g.Tickets[i] = m.Ticket
		}
		v.Groups, groups = append(v.Groups, g), append(groups, members)
	}
	for _, o := range s.open {
		if o.Queue == q.Name {
			v.Rooms = append(v.Rooms, o)
		}
	}
	return v, groups
}

// Pass calls the match function of a queue and returns the event with its matches. place returns the server of a new room, or ""
// if no server has a place or the pass is long enough. Such a match is not made, and short is true. The event is nil if there is no match.
func (s *State) Pass(now int64, queue string, place func() string) (event *Event, short bool, err error) {
	q, err := s.queue(queue)
	if err != nil {
		return nil, false, err
	}
	now = max(s.at, now)
	all, err := s.propose(&q, now)
	if err != nil {
		return nil, false, err
	}
	event = &Event{Kind: KindPass, At: now, Queue: queue}
	rooms := s.rooms
	for _, m := range all {
		if !m.Backfill {
			if m.Server = place(); m.Server == "" {
				event.Left++
				continue
			}
			m.Room = s.name(rooms)
			rooms++
		}
		event.Matches = append(event.Matches, m)
	}
	if short = event.Left > 0; len(event.Matches) == 0 {
		event = nil
	}
	return event, short, nil
}

// name returns the name of the room with a number. It is valid in a connect token and differs from every other one.
func (s *State) name(room uint64) string {
	return s.config.Prefix + "-" + strconv.FormatUint(room, 36)
}

// ErrMatch is wrapped by the errors about the result of a match function.
var ErrMatch = errors.New("the match function returned an impossible match")

// propose calls the match function and checks its result. New rooms have neither a name nor a server.
func (s *State) propose(q *Queue, now int64) ([]Made, error) {
	match := q.Match
	if match == nil {
		match = Fill
	}
	v, groups := s.view(q, now)
	proposals := match(v)
	used := make([]bool, len(groups))
	list := make([]Made, 0, len(proposals))
	for _, p := range proposals {
		m, free := Made{Room: p.Room, Backfill: p.Room != ""}, q.Players
		if m.Backfill {
			i := slices.IndexFunc(v.Rooms, func(o Open) bool { return o.Room == p.Room })
			if i < 0 || slices.ContainsFunc(list, func(m Made) bool { return m.Room == p.Room }) {
				return nil, fmt.Errorf("%w: queue %s, room %q does not request players, or twice", ErrMatch, q.Name, p.Room)
			}
			free, m.FirstSeat, m.Server = v.Rooms[i].Seats, AnySeat, v.Rooms[i].Server
		}
		for _, g := range p.Groups {
			if g < 0 || g >= len(groups) || used[g] {
				return nil, fmt.Errorf("%w: queue %s, group %d of %d does not exist, or is in two matches", ErrMatch, q.Name, g, len(groups))
			}
			used[g] = true
			for _, e := range groups[g] {
				m.Tickets = append(m.Tickets, e.Ticket.ID)
			}
		}
		if n := len(m.Tickets); n == 0 || n > free {
			return nil, fmt.Errorf("%w: queue %s, %d players for %d seats", ErrMatch, q.Name, n, free)
		}
		list = append(list, m)
	}
	return list, nil
}

package backend

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"tendon/net/cluster"
	"tendon/net/web"
)

// places are the rooms that have a place on a server and may not be in its announcement yet. The zero value is empty.
type places struct {
	rooms map[string]*placed
	order []string // by time; some are gone
}

// placed is a room with a place.
type placed struct {
	server string
	at     time.Time
	opened time.Time // zero: not known to be open
}

const (
	// placeMargin is how long a room is kept after its tokens have expired.
	placeMargin = 15 * time.Second
	// announceTime is the time after which the announcement of a server contains an open room.
	announceTime = 2 * time.Second
)

func (p *places) add(room, server string, at time.Time) {
	if p.rooms == nil {
		p.rooms = map[string]*placed{}
	}
	if p.rooms[room] == nil {
		p.order = append(p.order, room)
	}
	p.rooms[room] = &placed{server: server, at: at}
}

// unopened returns rooms that are not known to be open. Each call continues after the last one.
func (p *places) unopened(most int) (list []string) {
	for n := len(p.order); n > 0 && len(list) < most; n-- {
		room := p.order[0]
		p.order = p.order[1:]
		if r := p.rooms[room]; r != nil && r.opened.IsZero() {
			p.order, list = append(p.order, room), append(list, room)
		}
	}
	return list
}

func (p *places) open(rooms []string, now time.Time) {
	for _, room := range rooms {
		if r := p.rooms[room]; r != nil && r.opened.IsZero() {
			r.opened = now
		}
	}
}

// expire removes rooms that are announced, or whose players did not come.
func (p *places) expire(now time.Time, unopened time.Duration) {
	for room, r := range p.rooms {
		if r.opened.IsZero() && now.Sub(r.at) >= unopened || !r.opened.IsZero() && now.Sub(r.opened) >= announceTime {
			delete(p.rooms, room)
		}
	}
}

// choice chooses one of some servers for each new room.
type choice struct {
	list   []candidate
	reason string // why next returns ""
}

type candidate struct {
	id         string
	used, most int // rooms: taken, and the maximum
}

func newChoice(p *places, servers []cluster.Server) *choice {
	c := &choice{}
	total := 0
	used := map[string]int{}
	for _, r := range p.rooms {
		used[r.server]++
	}
	for _, s := range servers {
		c.list = append(c.list, candidate{s.ID, s.Rooms + used[s.ID], s.MaxRooms})
		total += s.MaxRooms
	}
	if c.reason = "no server accepts rooms"; total > 0 {
		c.reason = fmt.Sprintf("all rooms of all servers are taken (%d)", total)
	}
	return c
}

// usable returns the servers that accept new rooms of the game and open the tokens of the backend.
func (s *Service) usable() []cluster.Server {
	return slices.DeleteFunc(s.config.Directory.Servers(), func(v cluster.Server) bool {
		return v.MaxRooms == 0 || v.Draining || len(v.Addresses) == 0 || v.Protocol != 0 && v.Protocol != s.config.Protocol || !v.Opens(s.key)
	})
}

// alone reports whether the servers are not in a cluster.
func (s *Service) alone() bool {
	_, is := s.config.Directory.(Static)
	return is
}

// next returns the server with the smallest part of its rooms in use, and counts one more there. "": all are full.
func (c *choice) next() string {
	if len(c.list) == 0 {
		return ""
	}
	best := 0
	for i := range c.list {
		if cmp.Compare(c.list[i].used*c.list[best].most, c.list[best].used*c.list[i].most) < 0 {
			best = i
		}
	}
	if c.list[best].used >= c.list[best].most {
		return ""
	}
	c.list[best].used++
	return c.list[best].id
}

// Static is a directory of servers that are not in a cluster. Their load is not known: each of them refuses the rooms for which it has no
// place.
type Static []cluster.Server

// NewStatic returns the directory of servers with these addresses. Each has the given number of rooms. at is their address for browsers, and
// hashes are those of their self-signed certificates. Both are optional.
func NewStatic(addresses []string, rooms int, at string, hashes []web.Hash) (list Static) {
	for _, a := range addresses {
		list = append(list, cluster.Server{ID: a, Name: a, Addresses: []string{a}, MaxRooms: rooms, Web: at, WebHashes: web.HashBytes(hashes)})
	}
	return list
}

// Servers returns the servers.
func (s Static) Servers() []cluster.Server { return slices.Clone(s) }

// Owner returns false: which rooms are open is not known.
func (Static) Owner(context.Context, string) (cluster.Server, bool, error) {
	return cluster.Server{}, false, nil
}

package server

import (
	"tendon/net/link"
	"tendon/net/room"
)

// PeerInfo is one line of a live table of a room's connections.
type PeerInfo struct {
	room.PeerInfo
	Link link.Stats
	// Accepted are the client's packets that were taken, Newest is the largest of their numbers: see netcode.Server's
	// Received. What Newest gained and Accepted did not, between two moments, was lost on the way here.
	Accepted, Newest uint64
}

// Peers asks a room for its connections, by peer. It waits for the room's next turn, a few milliseconds; the room looks
// between two ticks and waits for nobody.
func (s *Server) Peers(name string) ([]PeerInfo, error) {
	var list []PeerInfo
	var conns []*conn
	err := s.host(name, func(_ *worker, h *host) error {
		for _, p := range h.room.AppendPeers(nil) {
			c := h.conns[p.Peer]
			if c == nil || c.link == nil {
				continue // it is gone, and the room says its last words
			}
			list, conns = append(list, PeerInfo{PeerInfo: p, Link: c.link.Stats()}), append(conns, c)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.port.mu.Lock()
	defer s.port.mu.Unlock()
	for i, c := range conns {
		if s.port.conns[c.slot] == c {
			list[i].Accepted, list[i].Newest = s.port.netcode.Received(c.slot)
		}
	}
	return list, nil
}

package server

import (
	"tendon/net/link"
	"tendon/net/room"
)

// PeerInfo is one line of a live table of the connections of a room.
type PeerInfo struct {
	room.PeerInfo
	Link link.Stats
	// Accepted is the number of packets received from the client, Newest the largest of their numbers: see the Received of
	// netcode.Server. The packets lost between two moments are the increase of Newest less that of Accepted.
	Accepted, Newest uint64
}

// Peers returns the connections of a room, by peer. It waits for the next turn of the room, a few milliseconds.
func (s *Server) Peers(name string) ([]PeerInfo, error) {
	var list []PeerInfo
	var conns []*conn
	err := s.hosted(name, func(_ *worker, h *hostedRoom) error {
		for _, p := range h.room.AppendPeers(nil) {
			c := h.conns[p.Peer]
			if c == nil || c.link == nil {
				continue // it has ended, and the room still sends its last messages
			}
			list, conns = append(list, PeerInfo{PeerInfo: p, Link: c.link.Stats()}), append(conns, c)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.conns.mu.Lock()
	defer s.conns.mu.Unlock()
	for i, c := range conns {
		if s.conns.conns[c.slot] == c {
			list[i].Accepted, list[i].Newest = s.conns.netcode.Received(c.slot)
		}
	}
	return list, nil
}

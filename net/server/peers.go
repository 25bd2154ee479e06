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
func (s *Server) Peers(name string) (list []PeerInfo, err error) {
	err = s.hosted(name, func(_ *worker, h *hostedRoom) error {
		peers := h.room.AppendPeers(nil)
		s.conns.mu.Lock()
		defer s.conns.mu.Unlock()
		for _, p := range peers {
			if c := h.conns[p.Peer]; c != nil && s.conns.conns[c.slot] == c { // otherwise it has ended
				info := PeerInfo{PeerInfo: p, Link: c.link.Stats()}
				info.Accepted, info.Newest = s.conns.netcode.Received(c.slot)
				list = append(list, info)
			}
		}
		return nil
	})
	return list, err
}

package predict

import (
	"tendon/ecs"
	"tendon/ecs/image"
)

// view bounds the moment that a player says he saw when he gave his input of tick f; zero is the present.
//
// What a player sees is as old as the way of the state to him, the wait until it is shown, and the way of his input
// back. So the judge's one-way latency is a whole round trip here: it is counted from when the input is used.
func (s *Server) view(f ecs.Tick, p ecs.Player, v image.ViewStamp) image.ViewStamp {
	peer := s.peerOf(p)
	if s.judge == nil || peer == nil {
		return image.ViewStamp{}
	}
	return s.judge.View(v, f, peer.rtt, peer.delay)
}

// peerOf returns the peer that holds a player's seat, nil if nobody does.
func (s *Server) peerOf(p ecs.Player) *peer {
	for i := range s.peers {
		if peer := &s.peers[i]; peer.open && peer.seat == int(p) {
			return peer
		}
	}
	return nil
}

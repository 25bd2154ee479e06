// Package lockstep is lockstep, 帧同步: every peer runs the whole match from the same operations in the same frames. The
// server is a referee of order and frame, not of outcome; what travels is what players do.
//
// A frame is a tick. An operation is a change of a player's input, or an order; it is stamped with the frame that is
// running when it reaches the server. At the end of every Nth frame the server sends a sync S, which promises that
// nothing will ever be stamped into a frame ≤ S. A client computes frame f if f ≤ S and it holds all of f; else it
// waits: that is a stall. So executed ≤ S ≤ the server's frame, at all times and on every peer, nothing is predicted,
// nothing is rolled back, and nothing stamped can be too late.
//
// Against jitter a client keeps M frames in hand: the margin. It runs a little faster when it has more and a little
// slower when it has less, and measures how late syncs come to choose M, unless [Config.Margin] does.
//
// The server may compute the match too ([Always]), or only keep its log and play it again when players disagree
// ([OnDemand]). Clients send checksums as they go and, when the game has a result, the result; the majority of those who
// were in the match when it ended decides, and the log where there is none. What nobody decided is played from the log
// when all have left or the room is over, so every result is told.
//
// It is not for games in which an own press must show at once: that takes the way to the server and back, and the
// margin. The relay strategy predicts.
//
//	s := lockstep.New(lockstep.Config{Interval: 3})  // or lockstep.Strategy, with defaults
//	half, err := s.NewServer(systems.ServerConfig{World: world, Peers: 8})
//	half.Open(peer, seat, world.Tick(), now, out)     // the peer holds that state
//	half.Receive(peer, systems.Datagram, message, now, out)
//	if !half.Hold(now) {
//		half.Tick(due)
//	}
//	half.Send(now, out)
//
// # Tasks
//
//   - Choose N, M, who is waited for, which channel: [Config]. The mode of the article that gave the strategy its
//     Chinese name: [Article].
//   - See what the operations of a frame become: frame.go. What is kept of a match: log.go.
//   - See how a peer is served, live or from far behind: serve.go.
//   - See when a client computes which frame: [Client.Frame]; how it keeps its margin: margin.go.
//   - See who decides what a match came to: court.go, decision.go, and tendon/systems/vote.
//   - See what is sent: message.go, sync.go, stamped.go, and the wire standard.
package lockstep

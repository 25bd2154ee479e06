// Package room runs one match on a server: the peers in it, their seats, and the strategy's half that computes it.
//
// A [Room] is pure: it reads no clock, opens no socket and starts no goroutine. Messages and the time are arguments;
// what it does is determined by the calls. Whoever owns it (net/server with sockets, net/matchtest with a simulated
// network) calls [Room.Receive] for each message and [Room.Frame] once per tick.
//
//	r, err := room.New(room.Config{Game: game, Seed: 1, Strategy: relay.Strategy}, now)
//	…
//	peer, err := r.Enter(transport, room.Identity{Seat: room.AnySeat, ClientID: 7}, now)
//	r.Receive(peer, channel, message, now)
//	r.Frame(now)
//	r.Gone(func(p systems.Peer, why error) { close(p) })
//
// It is not a server (one process runs many rooms) and not a strategy (it never looks at an input).
//
// # Time
//
// State(0) is at the time of New; tick f is due f/TickRate later, computed by integers. A Frame computes the ticks that
// are due, at most MaxTicks of them; what is left is computed by the next Frames. No tick is ever skipped; what came
// late is counted ([Stats]).
//
// # Coming and going
//
// Whoever enters loads an image of the state, and then the ticks since, from the strategy. A player's Join is stamped
// when it has caught up, so nobody waits for it. Images are compressed a little per Frame and sent under a budget, so
// that no tick is late because of them; joiners of the same half second share one.
//
// A player whose connection vanishes keeps its seat for KeepSeat. A connection with the same ClientID takes the seat
// over at once, without Leave and Join, also while the old connection still seems alive.
//
// # Tasks
//
//   - open a room: [New]
//   - let somebody in: [Room.Enter]; throw somebody out: [Room.Kick]
//   - notice who is gone: [Room.Gone]; say that a connection broke: [Room.Vanish]
//   - show a table of peers: [Room.AppendPeers], [Room.Stats]
//   - stop: [Room.Notice], [Room.Close], [Room.Closed]
package room

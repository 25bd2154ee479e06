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
// # Restarts
//
// A room that keeps a journal (a [Sink] with Commit) survives its process. Nothing of a tick leaves it before
// Commit has returned nil for that tick: no confirmation, no image, no word to a peer that is served only now. While
// Commit fails the match waits, and goes on by itself.
//
// A room that goes on with a journalled match (Config.Resume) keeps every seat for its client. It first waits for them,
// in which time nothing is computed and nothing stamped. Who says Hello with ticks behind the journal's end is asked for
// them. If nobody has any, the match goes on when all are back; otherwise it waits the full Resume.Wait, since another
// one may have more, and takes over the longest that goes on from the journal's chain. That chain proves a common past
// and no more: a client that makes up a future is believed if nobody has a longer one.
//
// A client goes on from the state it has if the server can serve it from there and its chain is that of the match; if
// not, it loads an image. What was stamped and not executed, and a seat that was taken in ticks which are lost, is lost
// too: the player joins anew.
//
// # Tasks
//
//   - open a room: [New]
//   - let somebody in: [Room.Enter]; throw somebody out: [Room.Kick]
//   - notice who is gone: [Room.Gone]; say that a connection broke: [Room.Vanish]
//   - show a table of peers: [Room.AppendPeers], [Room.Stats]
//   - survive the process: [Sink], Commit and Config.Resume
//   - stop: [Room.Notice], [Room.Close], [Room.Closed]
package room

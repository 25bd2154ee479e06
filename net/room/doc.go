// Package room runs one match on a server: its peers, their seats, and the server half of a sync strategy that computes
// the ticks.
//
// A [Room] is pure: it reads no clock, opens no socket and starts no goroutine. Messages and the time are arguments, and
// the same calls give the same result. The owner of a room calls [Room.Receive] for each message and [Room.Frame] once
// per tick. In production the owner is net/server; in tests it is net/matchsim with a simulated network.
//
// # Time
//
// New sets the moment of State(0). Tick f is due f/TickRate later. A Frame computes at most eight of the ticks that are due,
// and leaves the others to the next Frames. No tick is skipped; late ticks are counted in [Stats].
//
// # Joining and leaving
//
// A new peer loads an image of the state; the strategy then sends it the ticks since. The OrderJoin of a player is
// stamped when its client has caught up. Images are compressed in small steps and sent under a budget, so they delay no
// tick. The seat of a player whose connection is lost is kept for KeepSeat. A connection with the same ClientID takes the
// seat over at once, without OrderLeave and OrderJoin.
//
// # Restarts
//
// A room with a journal (a [Sink] with Commit) survives the end of its process. Nothing about a tick leaves the room
// before Commit has returned nil for it. While Commit fails, the match waits.
//
// A room that continues a journaled match (Config.Resume) first waits for the clients whose seats it keeps. It requests
// from them the final ticks after the end of the journal. Then the room executes the longest run of ticks that is proven.
// Orders that were stamped and not executed are lost, and so is a seat that was taken in lost ticks.
//
// A proof is a message authentication code over all ticks of the match, under Config.HistoryKey, which no client has. A
// room with that key sends one every tenth of a second. No client can change ticks or invent some. A client can only return
// fewer ticks than it has. Without the key no tick of a client is used. If the journal lost all ticks since an
// earlier restart, too, the ticks before that restart are as proven as those after it.
//
// # Tasks
//
//   - open a room: [New]
//   - add a connection: [Room.Enter]; remove a peer: [Room.Kick]
//   - find ended sessions: [Room.Gone]; report a lost connection: [Room.Vanish]
//   - show a table of peers: [Room.AppendPeers], [Room.Stats]
//   - record and journal a match: [Sink]; continue it in a new process: [Resume]
//   - stop: [Room.Notice], [Room.Close], [Room.Closed], [Room.Conclude]
package room

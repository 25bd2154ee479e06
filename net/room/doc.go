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
// A room that is more than half a second late gives up the excess. All further ticks are due later, and so is every time that
// the strategy reads. A server that stood still for ten seconds computes the 30 ticks whose inputs its players have sent, and
// continues at the usual speed. A room that is too slow gives up all lag at once and runs in slow motion. Stats.GivenUp counts
// that time, and the players receive a notice, every ten seconds at most.
//
// # Joining and leaving
//
// A new peer loads an image of the state; the strategy then sends it the ticks since. The OrderJoin of a player is
// stamped when its client has caught up. Images are compressed in small steps and sent under a budget, so they delay no
// tick. The seat of a player whose connection is lost is kept for KeepSeat. A connection with the same ClientID takes the
// seat over at once, without OrderLeave and OrderJoin.
//
// # Changing the strategy
//
// Switch stamps an order into a tick T. The half of the present strategy computes the ticks up to T; a new half of the other
// strategy continues with a copy of the world. Every peer receives an image of T that names the strategy. It keeps its old
// half until it has loaded the image. Connections and seats stay. The order changes no state. A journal contains it, so
// a restarted room continues with the strategy of the last change.
//
// # Pauses
//
// Config.Pause selects who may pause the match. The tick with the OrderPause is the last one until the match continues, so
// games, recordings and journals contain no time of a pause. The time that the strategies of the room and of its clients read
// stops too. Clients show the last moment and keep their distance to the server. Connections, chat and images continue. A
// player who enters meanwhile joins when the match continues. A restarted room continues the pause.
//
// # Restarts
//
// A room with a journal (a [Sink] with Commit) survives the end of its process. Nothing about a tick leaves the room
// before Commit has returned nil for it. While Commit fails, the match waits. While Commit returns ErrPending, the room computes
// further ticks, and holds its messages until the commit has ended. The strategy sends once for each commit.
//
// A room that continues a journaled match (Config.Resume) first waits for the clients whose seats it keeps. It requests
// from them the final ticks after the end of the journal. Then the room executes the longest run of ticks that is proven. It does
// so when all of these clients have answered, and those who joined in that run, at the latest after Resume.Wait. Orders that
// were stamped and not executed are lost, and so is a seat that was taken in lost ticks.
//
// A proof is a message authentication code over the number of the match and a digest of all its ticks, under
// Config.HistoryKey, which no client has. A room with that key sends one every tenth of a second. No client can change ticks
// or invent some. A client can only return fewer ticks than it has. Without the key, or without Resume.Digest, no tick
// of a client is used. If the journal lost all ticks since an
// earlier restart, too, the ticks before that restart are as proven as those after it.
//
// # Tasks
//
//   - open a room: [New]
//   - add a connection: [Room.Enter]; remove a peer: [Room.Kick]
//   - change the strategy: [Room.Switch], Config.Strategies
//   - pause the match: [Room.Pause]
//   - find ended sessions: [Room.Gone]; report a lost connection: [Room.Vanish]
//   - show a table of peers: [Room.AppendPeers], [Room.Stats]
//   - record and journal a match: [Sink]; continue it in a new process: [Resume]
//   - stop: [Room.Notice], [Room.Close], [Room.Closed], [Room.Conclude]; after a panic: [Room.Abort]
//   - stop for another process that resumes the match: [Room.Suspend], [Room.Closed]
package room

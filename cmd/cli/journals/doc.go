// Package journals keeps the journals of a server's rooms as files in one directory, and recovers their matches when a
// server is started again.
//
// A [Store] owns the directory; no other process may use it meanwhile. [Store.Open] adds a journal to each room that
// opens. No tick leaves the room before it is written, unless a write takes longer than a quarter of a second. Apart from that, the
// journals of a killed server have every tick that a client received as confirmed. [Store.Keep] closes the journal of a match that
// the next process continues. [Store.End] writes the end mark of a match that is over, and archives its file. At the start, the
// files without an end mark are the matches of a server that was stopped or killed. Each waits until a client reconnects; its room
// then continues where the journal ends.
//
// Goroutines of the store write the files, so no room waits for a disk. During a write, the room computes further ticks and holds
// its messages. If a write takes longer than a quarter of a second, the store reports it. The match then continues without its
// journal, for at most three seconds or 4 MiB. With Always, it does not continue: it waits after one second.
//
// The format is that of tendon/rollback/record. Package tendon/net/room decides when a match begins, waits or ends. Files,
// their directory, fsync, locks and the clock are here.
//
//	file                          content
//	ROOM-MATCH.journal            journal of a match that is running; MATCH is its number, in hexadecimal digits
//	ROOM-MATCH.ended.journal      journal of a match that is over, with an end mark: it is never read again and may be removed
//	quarantine/                   journals that could not be recovered; never read again
//	bans.json                     clients that are banned from the server
//	tokens.used                   tokens that had a connection, until they expire: a restarted server refuses them
//	lock                          held by the server that uses the directory
//
// # Tasks
//
//   - begin: Open; Store.Waiting returns the recovered matches
//   - journal a room: Store.Open as server.Config.OpenRoom, Store.End as CloseRoom, Store.Keep for a suspended room
//   - keep banned clients: Store.Bans, Store.SaveBans as server.Config.SaveBans
//   - bound the loss of a power cut: Sync
//   - refuse used tokens after a restart: Store.UsedTokens as server.Config.UsedTokens
//   - receive events: Config.Report
//   - end: Store.Close
package journals

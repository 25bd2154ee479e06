// Package journals keeps the journals of a server's rooms as files in one directory, and recovers their matches when a
// server is started again.
//
// A [Store] owns the directory; no other process may use it meanwhile. [Store.Open] adds a journal to each room that
// opens: no tick leaves the room before it was written. A server that is killed therefore has every tick that a client
// received as confirmed. [Store.End] writes the end mark of a match that is over, and archives its file. At the start,
// the files without an end mark are the matches of a server that was killed. Each waits until a client
// reconnects; its room then continues where the journal ends.
//
// The format is that of tendon/rollback/record. Package tendon/net/room decides when a match begins, waits or ends. Files,
// their directory, fsync, locks and the clock are here.
//
//	file                          content
//	ROOM-MATCH.journal            journal of a match that is running; MATCH is its number, in hexadecimal digits
//	ROOM-MATCH.ended.journal      journal of a match that is over, with an end mark: it is never read again and may be removed
//	lock                          held by the server that uses the directory
//
// # Tasks
//
//   - begin: Open; Store.Waiting returns the recovered matches
//   - journal a room: Store.Open as server.Config.OpenRoom, Store.End as CloseRoom
//   - bound the loss of a power cut: Sync
//   - receive events: Config.Report
//   - end: Store.Close
package journals

// Package journals keeps the journals of a server's rooms as files in one directory, and brings the matches in it back
// when a server is started again.
//
// A [Keeper] holds the directory, which no other process may use meanwhile. [Keeper.Open] hangs a file on each room
// that opens: nothing of a tick leaves the room before it was written, so a server that is killed has everything that
// it ever told a client. [Keeper.End] puts the file of a match that is over aside. What is found in the directory at
// the start are the matches of a server that was killed; each waits for the first client that comes back, whose room
// then goes on where the journal ends.
//
// It is not the format, which is tendon/rollback/journal, nor what decides when a match begins, waits or ends, which is
// tendon/net/room. Files, their directory, fsync, locks and the clock are here.
//
//	file                          what it is
//	ROOM-MATCH.journal            the journal of a match that goes on; MATCH is its number, in hexadecimal digits
//	ROOM-MATCH.ended.journal      that of one that is over: it is never read again and may be removed
//	lock                          held by the server that uses the directory
//
//	to                            use
//	begin                         Open; Keeper.Found says what was brought back
//	journal a room                Keeper.Open as server.Config.OpenRoom, Keeper.End as CloseRoom
//	choose what a power cut takes Sync
//	read what was brought back    Keeper.Left
//	hear what happens             Config.Told
//	end                           Keeper.Close
package journals

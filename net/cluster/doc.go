// Package cluster assigns each room to one owner among several servers, and stores the room's journal for the next owner.
//
// # Ownership
//
// Each room has a log in a Store that all servers share. A server owns the room from its claim, or
// from a move to it, until the next claim, move, release or end.
// Every entry contains the number of the entry before it. The store refuses an entry if that entry is not the newest one. A
// replaced server therefore cannot append, and the log is the fence. The sequence number of a claim is its fencing number.
//
// A planned move needs no claim: the last entry of the former owner names the next owner. The sequence number of that entry is the
// new fencing number. If the next owner dies before its first entry, or drains without one, other servers may claim the room. Its first
// Append then returns ErrLost.
//
// Leases only decide the time of a claim. Each server announces itself four times per lease. An observer regards a server as dead
// if its announcements have not changed for a lease, by the clock of the observer. The rooms of a dead server can be claimed.
// The observer then removes the announcement, so that a server that starts later need not observe it for a lease. Clocks of
// different machines are never compared. If an observer is wrong, two servers may act as the owner of a room for a while. Only one
// of them can append. While Room.Leased is true, no other server owns the room.
//
// # Journals
//
// An owner appends the bytes of the room's journal. Append returns nil when the store has them. The server may confirm their ticks to a
// client then, or earlier while Room.Leased is true. A server that fails may lose ticks that were confirmed earlier. A journal may be restarted at any time, for example with an image of the state. A new owner
// receives the bytes since the last restart: see Room.Recovered.
//
// If an error does not show whether the store has the entry, Append reads the end of the log until the result is certain.
//
// # Directory
//
// Announcements contain the address, build, capacity and load of each server. The newest entry of a room's log contains its
// owner: see Node.Owner.
//
// # Tasks
//
//   - join a cluster: New, Node.Run; leave it: Node.Drain, or Node.Accept to stay
//   - own a room: Node.Claim; find its owner: OwnedError, Node.Owner
//   - journal it: Room.Append, Room.Recovered; read its journal without a claim: ReadJournal
//   - give it up: Room.Release for any other server or a named one, Room.End when the match is over
//   - list servers: Node.Servers, Spread
//   - test without NATS: Memory
//   - connect to NATS: package tendon/net/cluster/jetstream
package cluster

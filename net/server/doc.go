// Package server runs many rooms in one process on one UDP socket. It admits clients by their connect tokens, makes and
// closes rooms, and computes them on one worker per core.
//
// The maker of the tokens chooses the room and the seat of each player. The server is built from net/room (the match),
// net/session (the messages), net/link (the channels) and net/netcode (the encryption).
//
// # Goroutines and time
//
// One goroutine reads the socket, opens packets and queues their messages for the workers. At each tick, a worker computes
// all its rooms. It seals and sends their packets whenever 64 or more are queued, and the rest after the last room. It also
// reads the socket before each tick, and at least every 50 ms. So the reading goroutine can sleep: waking for each packet
// costs more than processing it. Messages have the time at which the system received their datagram. Late ticks are computed late and never
// skipped. Workers keep connections alive while they read the socket, and the goroutine of Run does otherwise.
//
// All connections are in one table, because only that detects a token that is used from two addresses. Its lock is held for
// up to 64 packets at a time, never during a system call or a tick.
//
// # Bounds
//
// All memory is bounded:
//
//   - rooms and connections: see Config
//   - packets per connection: about twice the tick rate; Stats.PacketsFlood
//   - packets that wait for a worker: 4 MB; Stats.PacketsLost
//   - bytes that wait for a client: 416 KB, then the session ends
//   - log lines: 5 per second
//
// The server sends each new client a reconnect token before its room is open. When the client has joined, it has been sent four,
// and then receives a new one every 30 s. Each is valid for one connection, which replaces the old one at once, if that still
// exists.
//
// A token is valid for one connection, also after a restart. Config.UsedTokens records the used tokens for the next process.
// Without it, the server refuses tokens that were issued before New. Steps of the clock of the host end no match and no ban.
//
// # Stopping
//
// Config.OnStop selects what becomes of running matches when the context of [Server.Run] is done. [Keep] suspends the rooms for the
// next process, whose Config.OpenRoom resumes them. Clients reconnect until it answers. [Finish] waits until the last match is over.
//
// # Standstills
//
// Another server may continue the rooms of a process that stands still. After a standstill of half a second, the server still receives packets
// and computes ticks. It sends no packet of a connection until Config.StoodStill, if set, has returned. A room that was being opened meanwhile is
// not opened: its clients try again.
//
// # Expelled clients
//
// A client is expelled if its checksums differ too often, if it sends too many reliable messages or packets, or if it breaks
// the framing of messages. It is then banned for Config.BanTime: each of its tokens, old or new, is refused with the time that is
// left. A client of another build whose checksums differ is not banned, but needs a new token. An operator can ban clients, too.
// MaxBans bounds the list. Config.SaveBans and Config.Bans keep it over restarts.
//
// # Panics
//
// If the rules of a room panic, that room ends: its clients receive the reason, and Config.CloseRoom closes its sinks. The other
// rooms continue. Config.Crashed receives the tick and the stack. Fatal errors of the Go runtime, such as concurrent writes to a
// map, still end the process.
//
// # Tasks
//
//   - run a server: [New], [Server.Run]; stop it: [OnStop], [Server.End]
//   - invite a player: [Mint], [Ticket], [Pass]
//   - make and load the key: [GenerateKey], [LoadKey]
//   - set the seed, the sinks and the observer of a room: Config.OpenRoom, Config.CloseRoom
//   - observe the server: [Server.Stats]; a room: [Server.Do]; its players: [Server.Peers]
//   - remove a player: [Server.Kick]; ban one: [Server.Ban], [Server.Bans]
//   - pause a match: [Server.Pause]; change its strategy: [Server.Switch]
package server

// Package server runs many rooms in one process on one UDP socket. It admits clients by their connect tokens, makes and
// closes rooms, and computes them on one worker per core.
//
// The maker of the tokens chooses the room and the seat of each player. The server is built from net/room (the match), net/session (the
// messages), net/link (the channels) and net/netcode (the encryption).
//
// # Goroutines and time
//
// One goroutine reads the socket, opens packets and queues their messages for the workers. Each worker computes its rooms
// in turn, on a grid of about 4 ms, and seals and sends the packets of the rooms that were due. It also reads the socket
// right before its ticks, so the reading goroutine can sleep between batches: waking for each packet costs more than
// processing it. Late ticks are computed late and never skipped. The goroutine of Run keeps connections alive.
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
// The server sends each client four reconnect tokens when it has joined, and a new one every 30 s. Each is valid for one
// connection, which replaces the old one at once, if that still exists.
//
// # Tasks
//
//   - run a server: [New], [Server.Run]
//   - invite a player: [Mint], [Ticket], [Pass]
//   - make and load the key: [GenerateKey], [LoadKey]
//   - set the seed, the sinks and the observer of a room: Config.OpenRoom, Config.CloseRoom
//   - observe the server: [Server.Stats]; a room: [Server.Do]; its players: [Server.Peers]
//   - remove a player: [Server.Kick]
package server

// Package server runs many rooms in one process on one UDP socket: it lets clients in by their connect tokens, makes
// and closes rooms, ticks them on one worker per core, and tells everybody when it stops.
//
// It is not a matchmaker (whoever makes tokens decides who plays where), not a match (net/room is) and not a protocol
// (net/netcode seals, net/link has the channels, net/session the messages).
//
//	s, err := server.New(server.Config{
//		Room:    room.Config{Game: game, Strategy: relay.Strategy},
//		Address: ":7777",
//		Public:  []netip.AddrPort{netip.MustParseAddrPort("203.0.113.5:7777")},
//		Keys:    []netcode.Key{key},
//	})
//	if err != nil {
//		return err // a sentence that says what to do
//	}
//	return s.Run(ctx) // until ctx is done
//
// A client is let in by a token, which a backend makes with the same key:
//
//	token, err := server.Mint(server.Ticket{ProtocolID: server.ProtocolID(game.Name), Key: key, ClientID: account,
//		Addresses: public, Pass: server.Pass{Room: "duel-7", Seat: server.AnySeat}}, time.Now())
//
// # Goroutines
//
// One reads the socket, opens packets and files what was in them with the worker whose room it is for; each worker
// computes its rooms; Run's own keeps connections alive. There is none for a connection, and none for a room. A worker
// also reads what is there right before its ticks, so the reader can sleep between batches: waking for each packet
// costs more than all that is done with it.
//
// Every datagram of a tick leaves by its worker: it collects what all its due rooms send, has it sealed, and writes it
// with one system call for many. net/netcode is one value for one goroutine at a time, and it must stay one: only a
// single table of tokens and clients can tell that a token was used from two addresses, or that a client is back. So it
// stands under a lock, which the reader and the workers hold while they open or seal up to 64 packets, at about a
// third of a microsecond each, and never during a system call or a tick. That is a tenth of what a packet costs in
// all, kernel included; the other nine run side by side. To shard the seals by address would need the rooms to be sharded in the same
// way, or every packet to change goroutines twice.
//
// # Time
//
// The rooms of a worker tick in turns, on a grid of about 4 ms: a room's phase is chosen when it is made, so that the
// load is even within a tick and the worker wakes a few hundred times a second at most, however many rooms it has. What
// arrived waits for the next turn; it carries the time at which it was read from the socket, at most 4 ms after it came.
// A tick that is late is computed late, never left out.
//
// # Bounds
//
// Nothing that a client does makes the server wait, and everything that it can fill has a bound: rooms and connections
// (Config), packets per connection (twice the tick rate and some; Stats.PacketsFlood), packets that wait for a worker
// (4 MB; Stats.PacketsLost), bytes that wait for a client (416 KB, then the session ends), log lines (5 a second).
//
// # Coming back
//
// Each client is handed four reconnect tokens when it is in, and a fresh one every 30 s. Each is for one connection,
// which takes the place of the old one at once, if that still stands. See floors for which tokens are good.
//
// # Tasks
//
//   - run a server: [New], [Server.Run]
//   - invite a player: [Mint], [Ticket], [Pass]
//   - keep the key: [GenerateKey], [LoadKey]
//   - give rooms seeds, recorders, observers: Config.OpenRoom, Config.CloseRoom
//   - watch it: [Server.Stats]; look into a room: [Server.Do]; at its players: [Server.Peers]
//   - put somebody out: [Server.Kick]
package server

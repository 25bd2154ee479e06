// Package relay is rollback with a server relay: every peer simulates everything; the server fixes, tick by tick and
// at a pace that never changes, which inputs were used; a client runs ahead on its own inputs and on predictions of
// the others', and rewinds where the server's set differs.
//
// The idea of predicting inputs and rolling back is GGPO's; the timing is Overwatch's (Timothy Ford, "Overwatch
// Gameplay Architecture and Netcode", GDC 2017): the server takes exactly one input per player and tick, repeats the
// last where one is missing, and tells the client, whose clock then runs a little faster or slower.
//
// The server half simulates too. It is what joins, resyncs, verdicts and recordings are made from, and what clients'
// checksums are compared with.
//
// What a client sends and hears is in message.go and order.go, and in the wire standard. One datagram a tick goes each
// way: up, the inputs of ticks that are not final yet; down, the input sets that the client has not acknowledged.
// Orders and checksums go on the reliable channel. Where there is no datagram channel, all may go on the reliable one.
//
// It is not a session: who may take a seat, how images travel and when a peer is gone are decided around it.
//
//	half, err := relay.Strategy.NewServer(systems.ServerConfig{World: world, Peers: 8})
//	half.Open(peer, seat, world.Tick(), now, out)  // the peer holds that state
//	half.Stamp(ecs.Order{Kind: ecs.OrderJoin, Player: ecs.Player(seat)}, out)
//	half.Receive(peer, systems.Datagram, message, now)
//	half.Tick(due)
//	half.Send(now, out)
//	half.Desynced(func(p systems.Peer) { … })      // send it an image, then Open it again
//
// # Tasks
//
//   - Follow a player's inputs on the server: seat.go. What a confirmation is made of: codes.go.
//   - See who is too far behind, floods or differs: peer.go, hashes.go.
//   - See what a frame does on a client: [Client.Frame]. How its clock is kept: systems/clock.
//   - See what a player's controls become, and what happens where the prediction window is too small: Own and Delay in
//     systems/internal/inputs.
package relay

// Package relay is the strategy rollback with a server relay. Every peer simulates everything. The server fixes the inputs
// of each tick, at a constant pace. A client runs ahead with its own inputs and predicted inputs of the other players, and
// rewinds where the server's input set differs.
//
// Input prediction with rollback follows GGPO. The timing follows Timothy Ford ("Overwatch Gameplay Architecture and
// Netcode", GDC 2017). The server uses exactly one input per player and tick, and repeats the last where one is missing.
// It reports the margin to the client, whose clock then runs a little faster or slower.
//
// One datagram a tick travels each way: up, the inputs of ticks that are not final yet; down, the input sets that the
// client has not acknowledged. Orders and checksums use the reliable channel. The server half simulates too. Its states
// serve joins, resyncs, decisions and recordings, and are compared with the checksums of clients.
//
// A correction moves no entity at once in a view. It is shown at an offset, which decays within the entity's top speed:
// predictor.Offsets. Set Physics.MoveLimit to that speed. Teleports jump. ClientStats counts the events that were shown and
// then cancelled.
//
// # Tasks
//
//   - Follow a player's inputs on the server: server.go, authority. The code of a confirmation: message.go.
//   - Follow a frame on a client: client.go, predictor. Its clock: systems/clock.
//   - The local player's inputs, and the input delay: Own and Delay in internal/inputs.
package relay

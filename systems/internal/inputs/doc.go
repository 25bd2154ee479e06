// Package inputs delivers the inputs of players to the ticks that use them. Most of it is for strategies in which a client runs
// ahead of the server and each tick uses exactly one input of each player.
//
// It does not control the client's clock. [tendon/systems/clock] does, with the margins that a Buffer measures.
//
// # Tasks
//
//   - receive the inputs of a message: [Grid.Arrival], [Buffer.Receive]
//   - give every tick of the server one input: [Buffer.Put], [Buffer.Next]; the rules are in substitute.go and late.go
//   - measure how early a client's inputs arrive: [Buffer.Receive], [Buffer.PopWorst], in margin.go
//   - sample the local player: [Own.Set], [Own.Next], [Own.Put]
//   - send a server the changes of the local player's input: [Changes]
//   - delay inputs where the prediction window is too small for the connection: [Delay]
//   - encode and decode inputs of successive ticks: [AppendWindow], [WindowDecoder]
package inputs

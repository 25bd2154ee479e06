// Package inputs is how the inputs and orders of players reach the tick that they are for, in strategies in which a client runs
// ahead of the server and each tick takes exactly one input of each player: the server's side of one seat, the local
// player's side, and the window of inputs in a message between them.
//
// It decides nothing about time: systems/clock does, by the margins that a Buffer measures.
//
// # Tasks
//
//   - take the inputs of a message: [Grid.Arrival], [Buffer.Receive]
//   - give every tick of the server one input: [Buffer.Put], [Buffer.Take]
//   - let orders wait for the next ticks: [Orders]
//   - tell a client how early its inputs come: [Buffer.Measure], [Buffer.TakeWorst]
//   - sample the local player: [Own.Set], [Own.Next], [Own.Put]
//   - delay inputs where the prediction window is too small for the connection: [Delay]
//   - write and read inputs of successive ticks: [AppendWindow], [ReadWindow]
package inputs

// Package clock paces a client's ticks so that its inputs reach the server in time, and estimates the clock of the other side.
//
// [Lead] keeps inputs in time by the margins that the server measured for earlier inputs, without an estimate of the server's
// clock. The exchange between a [Prober] on the client and an [Answerer] on the server, one for each client, estimates the
// other clock for time stamps.
//
// The exchange follows Cloud Wu's note on position sync. The client sends a ping. The server answers with the times at
// which it received the ping and sent the answer. A third message lets the server compute an estimate as well. Each clock
// has its own zero; only the difference matters. Every exchange bounds the difference by its round trip, and the bounds of
// the last 32 exchanges are intersected. The offset in use follows the estimate without jumps ([Remote]).
//
// It is not NTP: no clock is set. The asymmetry of a path cannot be measured, so an estimate may be off by half of the round
// trip. A stamp that seems to come from the future, on either side, shows that it is wrong ([Remote.Check]).
//
// Nothing here reads a clock; times are arguments.
//
// # Tasks
//
//   - follow the server's ticks: [Pacer], [Lead]
//   - exchange times: [Prober], [Answerer], [Owns], [Remote.ToRemote], [Remote.Check]
package clock

// Package events replicates the events of final ticks from the server to clients that predict.
//
// Each tick's events are one reliable message. A state that the server sends announces which events belong before it,
// so that the client can cancel predicted events that did not happen.
// [tendon/rollback.Effects] decides the status of a predicted event.
//
// # Tasks
//
//   - store the events of recent ticks: [Log]
//   - send them to a peer: [Sender]
//   - receive them, and cancel what did not happen: [Receiver]
package events

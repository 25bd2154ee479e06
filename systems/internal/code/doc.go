// Package code holds how strategies write what several of them send: an input against what was expected of it, and what
// an order does, and the messages that are alike. The layouts are part of the wire standard.
//
// # Tasks
//
//   - write and read an input: [AppendChange], [ReadChange]
//   - write and read an order's action: [AppendAction], [ReadAction]
//   - ask for an order: [AppendRequest], [ReadRequest]
//   - tell the events of a tick: [AppendEvents], [ReadEvents]
package code

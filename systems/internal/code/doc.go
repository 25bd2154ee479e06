// Package code encodes the parts of messages that several strategies send: inputs as changes of predicted ones, actions of
// orders, and events. The layouts are part of the wire standard.
//
// # Tasks
//
//   - write and read an input: [AppendChange], [ReadChange]
//   - write and read an order's action: [AppendAction], [ReadAction]
//   - request an order: [AppendRequest], [ReadRequest]
//   - write and read the events of a tick: [AppendEvents], [ReadEvents]
package code

// Package code encodes the parts of messages that several strategies send. The layouts are part of the wire standard.
//
// # Tasks
//
//   - write and read inputs as changes of predicted ones: [AppendChange], [AppendInputs]
//   - keep a code and copy it into messages: [AppendStored]
//   - write and read an order's target and payload: [AppendAction], [AppendRequest]
//   - write and read a checksum, and the events of a tick: [AppendChecksum], [AppendEvents]
package code

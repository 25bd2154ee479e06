// Package code holds how strategies write what several of them send: an input against what was expected of it, and what
// an order does. The layouts are part of the wire standard. It is no message of its own.
//
// # Tasks
//
//   - write and read an input: [AppendChange], [ReadChange]
//   - write and read an order's action: [AppendAction], [ReadAction]
package code

// Package wire holds the bounded readers and writers that every Tendon message is coded with, and the envelope that
// carries messages of both channels in one packet. STANDARD.md beside this file specifies the layouts;
// testdata/vectors.txt has examples, byte for byte.
//
// Bytes off the wire are hostile, so a [Reader] checks before it acts. It compares every length and count with its
// bound and with the bytes that are left before it slices or allocates. It refuses an encoding that is not the shortest
// one. The first error is kept, so a decoder needs only one check, of [Reader.Close].
//
// # Tasks
//
//   - decode bytes from a peer: [NewReader], close with [Reader.Close]
//   - decode a list without trusting its count: [Reader.Count]
//   - encode under a limit: [NewWriter]
//   - code flags and deltas bit by bit: [NewBitWriter], [NewBitReader]
//   - remove invisible characters from a text: [Clip]
//   - widen a short wire tick to 64 bits: [Expand16], [Expand32]
//   - build a packet: [AppendEnvelope], [AppendPart], [PartSize]
//   - take a packet apart: [OpenEnvelope], [Parts.Next]
package wire

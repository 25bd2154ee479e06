// Package record stores the final ticks of a match in a file and reads them back: inputs, orders, checksums and images of
// the state.
//
// A [Writer] appends ticks, seats and images, and writes them as checksummed blocks. [Open] reads a record, leaves out a
// torn end, and reports damage with its place. [Record.WorldAt] seeks, [Record.Verify] simulates the record again and
// compares every checksum, [Record.Resume] continues a match after a crash.
//
// A recording and a journal are the same file with other settings:
//
//	            checksums      images                        flushed        ended
//	recording   every tick     every 5 s (RecordingImages)   once a second  Writer.End
//	journal     once a second  every 30 s (JournalImages)    every tick     Writer.End, when the match is over
//
// An image can have a past: the states of the ticks before it, at which the views of players in later ticks look back. A replay
// begins with the newest image whose past has all of them.
//
// A journal without an end mark is of a match that may continue. A client's log never has one.
//
// A hash chain ties each tick to all ticks before it: two peers with the same [Chain] at a tick have the same match so
// far. A [Tail] keeps the newest ticks in memory, so that clients can return to a server the ticks that it lost in a power
// cut. Each offer has a proof that the server made with a [Prover], which [Codec.ReadTail] checks. A [History] keeps the last
// seconds of a running match and returns them as a Record.
//
// The package opens no files and reads no clock: it works on io.Writer and byte slices. When to sync a file, and what to
// do after a failed write, is up to the caller.
//
// A record is not a video. It can only be simulated with the game that wrote it, which its header identifies. Package
// tendon/rollback/record/cursor shows single ticks of it, tendon/rollback/record/bundle stores two of them that differ.
//
// # Tasks
//
//   - write a recording: HeaderOf, NewWriter, Writer.Tick, ImageDue, Image, Flush, End
//   - write a journal: the same with Writer.Seat, and Flush after every tick
//   - survive a full disk: Writer.Flush again
//   - read a file, torn or not: Open, Record.Torn, Ended, DamageError
//   - check that the states follow from the inputs: Record.Verify
//   - seek: Record.WorldAt
//   - list inputs, orders and checksums: Record.Ticks
//   - continue a match: Header.CheckBuild, Record.WorldAt, truncate to Record.Bytes, Record.Resume
//   - compare two peers' past: Chain, Record.Chain, Tail.Chain
//   - offer lost ticks, and accept them: NewTail, Tail.AppendFrom, NewProver, Codec.ReadTail, Offer.Ticks
//   - keep the last seconds of a match: NewHistory, History.Record
//   - make a record in memory: Collect
//   - write ticks for a reader that has the state before them: NewTicksWriter, OpenTicks
//
// The format is in STANDARD.md, with vectors in testdata.
package record

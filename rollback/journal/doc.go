// Package journal keeps the final ticks of a match where they survive the process.
//
// A [Writer] is told of every tick as it becomes final, of seats that change hands, of a checksum now and then and of
// a state every half minute. [Open] reads a journal back after a kill, cuts what was being written, and
// [Journal.World] brings the match back, proving every checksum on the way; [Journal.Resume] goes on with it. A server
// lets no confirmation out before the ticks in it were flushed, so whatever a client was told is there again. A client
// keeps a journal of its own to rejoin with no more than what it missed.
//
// A [Chain] ties each tick to all before it: two peers that name the same tick and chain took the same match so far.
// A [Tail] keeps the newest ticks in memory, so that clients can give back to a server what a power cut took from it;
// [Codec.ReadTail] checks what they offer.
//
// All work on io.Writer and byte slices. Files, their directories, fsync and clocks are the caller's. A journal is not
// a recording: it holds no substitutions and few checksums, is written tick by tick, and is gone when the match is;
// see tendon/rollback/recording for what is kept.
//
//	to                                            use
//	begin a journal                               HeaderOf, NewWriter
//	make ticks durable                            Writer.Tick, Flush
//	survive a full disk                           Writer.Flush again
//	keep what a recovery needs                    Writer.Seat, Check, ImageDue, Image
//	list journals                                 ReadHeader
//	bring a match back                            Open, Journal.World, Seats, Last
//	play it again, tick by tick                   Journal.Play
//	say what was lost                             Journal.Torn, DamageError
//	go on                                         truncate to Journal.Valid, Journal.Resume
//	serve what a client missed                    Journal.Ticks
//	compare pasts                                 Chain, Journal.Chain, Tail.Chain
//	offer lost ticks, and take them               NewTail, Tail.AppendFrom, Codec.ReadTail, Offer.Ticks
//
// # Format, version 1
//
// A journal is the 8 bytes "TENDONJL", one byte of version, and blocks. It is only ever appended to. Numbers are
// little-endian or, where they are called varint, unsigned LEB128 in the shortest form; a string is a varint of its
// bytes, then they.
//
//	block    length varint, in [1, 2^28); head sum 4; sum 4; payload
//	         head sum: CRC-32C of the length
//	         sum: CRC-32C of the payload, begun with the head sum XOR both halves of the block's offset in the file
//
// A block is written by one Flush and counts as a whole or not at all. A block that is not whole and has none behind it
// is the last, torn while it was written: it is cut and told of. One that has others behind it is damage. The offset in
// the sum gives away blocks that were moved, doubled or left out.
//
// The first block's payload is the header:
//
//	strings game, build, strategy, room, params; fingerprint 8, match 8, seed 8, chain at start 8; tick rate varint,
//	players varint, bytes per input varint, start varint; the inputs of start: players × bytes per input
//
// All others are records, one behind the other:
//
//	tick     its code, which begins with a byte of flags below 4; ticks follow each other from start + 1
//	seat     kind 4, held 1, player 1, client 8, name string
//	check    kind 5, tick varint, checksum 8
//	image    kind 6, tick varint, bytes varint, string: the image compressed with zstd
//
// Checks and images are of the last tick before them or of an earlier one, and ascend. A journal with start > 0 has an
// image of start before its first tick.
//
// # The code of a tick
//
// The code follows from the inputs of the tick before and from the tick, and every other way to write them is refused:
//
//	flags    1: 1 inputs changed, 2 orders
//	inputs   players whose input changed varint, not 0; for each, upwards: changed bytes varint, not 0, then they as
//	         they are now
//	orders   count 1, not 0; for each: kind 1, player 1, row varint, born varint, payload string
//
// The chain after a tick is xxHash64 of the chain before it (8) and its code. That of State(0) is 0.
//
// # An offer of ticks
//
//	first tick varint, count varint, chain before 8, chain after 8, codes
package journal

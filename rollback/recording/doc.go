// Package recording stores a match as what entered it, and replays it.
//
// A [Writer] is told of every confirmed tick: its inputs, who of them was substituted, its orders and the checksum of
// its state. Every five seconds it stores an image of the state. [Open] reads a recording back, [Verify] plays it again
// and compares every tick's checksum, [Recording.WorldAt] seeks, [Recording.Entries] dumps. All work on io.Writer and
// byte slices: files and clocks are the caller's.
//
// It is not a video: a recording replays only with the game it was made with. Name and fingerprint stand in its
// header, and another game or layout is refused.
//
// Where a server judged by what a player saw, the moment stands among the tick's orders (ecs.OrderView), and playing
// keeps as much of the past as these look back. A recording that starts with an image has none before it: then the
// server must not have looked back beyond that state.
//
//	to                                     use
//	record a match                         HeaderOf, NewWriter, Writer.Tick, ImageDue, Image, Close
//	make what was recorded durable         Writer.Flush
//	read a recording, torn or not          Open, ErrTorn, ErrCorrupt
//	prove that a match happened so         Verify
//	seek                                   Recording.WorldAt
//	list inputs, orders and checksums      Recording.Entries
//
// # Format, version 1
//
// A recording is the 8 bytes "TENDONRC", one byte of version, and blocks. It is only ever appended to. Numbers are
// little-endian or, where they are called varint, unsigned LEB128; a string is a varint of its bytes, then they.
//
//	block    kind 1, length 4, CRC-32C of the payload 4, CRC-32C of the 9 bytes before 4, payload
//
// The second checksum tells a block that was cut short from one whose length was damaged: a recording may end inside
// a block, or with a block whose payload is wrong, as a crash leaves it. That tail is cut and told of; whatever is
// wrong before is corruption.
//
//	header   kind 1, first and once: name string, build string, fingerprint 8, seed 8, tick rate varint, players varint,
//	         bytes per input varint, start varint
//	ticks    kind 2: first tick varint, count varint, then for each tick
//	           flags 1: 1 inputs changed, 2 somebody was late, 4 orders
//	           changed players varint, and for each, upwards: changed bytes varint, then they
//	           late players varint
//	           order count varint, and for each: kind 1, player 1, row varint, born varint, payload string
//	           checksum 8
//	         inputs change against the tick before, the block's first tick against zeros
//	image    kind 3: tick varint, bytes varint, the image compressed with zstd
//
// The ticks of consecutive blocks follow each other, beginning with start + 1; an image is of the last tick before it,
// the first one of start. Inputs, orders and checksum of a tick stand in one block, so that a cut never leaves half a
// tick.
package recording

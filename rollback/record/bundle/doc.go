// Package bundle is one file with everything that is known about a desync: both states, the ticks that led there, the
// checksums, the build and the settings.
//
// A client or server that finds a difference writes a [Bundle] with [Bundle.Append]. [Open] reads it back.
// [Bundle.Examine] returns the differences by component, entity and field, and which of the two states follows from the
// game's rules. Both sides are records, so that package cursor shows their ticks.
//
// Here is the side that wrote the bundle, There is the other one, of which sometimes only a checksum is known. A bundle has
// inputs and orders of players, and no addresses and keys. The package opens no file and sends nothing.
//
// # Tasks
//
//   - write a bundle: Bundle, Bundle.Append
//   - read it: Is, Open
//   - list the differences: Bundle.Examine
//   - show its ticks: cursor.New with Bundle.Here or There
//
// # Format, version 2
//
//	magic     8 bytes "TENDONDB"
//	version   1 byte
//	tick      uvarint: of the two states
//	by        blob: "client" or "server"
//	peer      blob: the peer whose state differs, for people
//	claimed   uvarint: the tick of a checksum that There sent; 0: none
//	claim     8 bytes, lowest first: that checksum
//	settings  uvarint of at most 64, then for each a blob of its name and one of its value
//	here      blob: a record (package record) with an end mark, whose last tick is tick and has an image
//	there     blob: the same, or empty
//	checksum  4 bytes, lowest first: CRC-32C of everything before
//
// A blob is a uvarint of its size, then so many bytes: at most 4096 of a text, 256 MiB of a record. The file ends with the
// checksum. A record that is torn or damaged makes the bundle damaged.
package bundle

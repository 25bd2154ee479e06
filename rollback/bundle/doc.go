// Package bundle is one file of everything that is known of a desync, for whoever has to find out why: the state here
// and the state there, what entered the last ticks, the checksums, the build and the settings.
//
// A client or server that finds a difference writes a [Bundle] with [Bundle.Append]; [Open] reads it back, and
// [Bundle.Examine] says what differs, by component, entity and field, and which of the two states the game's rules lead
// to. Both sides are a travel.Source, so that package travel goes through their ticks.
//
// Here is whoever wrote the bundle; There is the other one, of whom sometimes only a checksum is known. The package opens
// no file and sends nothing: where a bundle goes is its caller's business. It holds what players did, no addresses and no
// keys.
//
//	to                             use
//	write what is known            Bundle, Bundle.Append
//	read it                        Open, Is
//	see what differs               Bundle.Examine
//	go through its ticks           travel.New with Bundle.Here or There
//
// # Format, version 1
//
//	magic     8 bytes "TENDONDB"
//	version   1 byte
//	tick      uvarint: of the two states
//	by        blob: "client" or "server"
//	peer      blob: whose state differs, for people
//	claimed   uvarint: the tick of a checksum that There told; 0: none
//	claim     8 bytes, lowest first: that checksum
//	settings  uvarint of at most 64, then for each a blob of its name and one of its value
//	here      blob: a recording (package recording), whose last image is of tick
//	there     blob: the same, or empty
//	checksum  4 bytes, lowest first: CRC-32C of everything before
//
// A blob is a uvarint of its bytes, then they: at most 4096 of a text, 256 MiB of a recording. Nothing follows the
// checksum. A recording that is torn or corrupt makes the bundle corrupt.
package bundle

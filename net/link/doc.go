// Package link carries messages on two channels over one sealed connection. The reliable channel retransmits lost
// segments: its messages arrive once, whole and in order. The datagram channel never retransmits: its messages arrive
// without delay or not at all.
//
// The package is the only importer of kcp-go. It uses the protocol core alone: no listener, no session, no goroutine.
//
// A [Link] is sans-IO: [Link.Receive] processes an opened packet, and [Link.Flush], called once per tick with the time,
// emits the packets to be sealed by net/netcode. One goroutine may use a Link at a time.
//
// # Packets of a tick
//
// The datagrams queued since the last Flush are sent together in one packet. Segments of the reliable channel fill the
// rest of it, and further packets as far as the budget of 256 KB per second allows.
//
// The KCP core carries a stream of length-prefixed messages, cut into segments as the budget allows. The fragments of KCP
// are not used: the core sends a whole message as soon as the window of the peer opens, without regard to a budget. Small
// messages of one tick share a segment. Section 3 of net/wire/STANDARD.md has the layout.
//
// Duplicated, reordered and late datagrams are delivered like any other.
//
// # Time
//
// The KCP core reads the monotonic clock of the process, for retransmission only. The budget, the timeout and the round
// trip time use the time passed to Flush. In tests both agree in a testing/synctest bubble.
//
// # Tasks
//
//   - make a link: [New]
//   - send a message: [Link.Send]; pace bulk data: [Link.Room]
//   - detect a lost or faulty peer: [Link.Err]
//   - chart a connection: [Link.Stats]
package link

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
// The datagrams queued since the last Flush are sent together, in one packet if they fit. Otherwise a tick has up to four packets
// of datagrams. Those before the last one keep to the bytes that the rate of the line allows in 100 ms. Segments of the reliable
// channel fill the rest of the last packet, and further packets as far as the rate allows, at most 256 KB per second.
//
// The KCP core carries a stream of length-prefixed messages, cut into segments as the budget allows. The fragments of KCP
// are not used: the core sends a whole message as soon as the window of the peer opens, without regard to a budget. Small
// messages of one tick share a segment. Section 3 of net/wire/STANDARD.md has the layout.
//
// # Congestion control
//
// Each end numbers its packets, and reports ten times a second which it has received. net/link/rate computes the rate of the
// line from the reports. Reliable segments keep to the rate. Datagrams come first: they are counted, and reliable segments have
// the rest. On a congested line [Link.Ready] returns false in some ticks, whose messages the owner does not send.
//
// Duplicated, reordered and late datagrams are delivered like any other.
//
// # Time
//
// The KCP core reads the monotonic clock of the process, for retransmission only. The budget, the timeout and the round
// trip time use the time passed to Flush. In tests both agree in a testing/synctest bubble. The core of [NewSimulated] behaves the
// same and reads a given clock, for networks in virtual time.
//
// # Tasks
//
//   - make a link: [New], [NewSimulated]
//   - send a message: [Link.Send]; skip a tick on a congested line: [Link.Ready]; pace bulk data: [Link.Room]
//   - detect a lost or faulty peer: [Link.Err]
//   - chart a connection: [Link.Stats]
package link

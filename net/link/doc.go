// Package link carries messages of two channels over one sealed connection:
// reliable ones, once, whole and in order, and datagrams, fresh or not at all.
// It is the only importer of kcp-go in Tendon, and uses nothing of it but its
// protocol core: no listener, no session, no goroutine.
//
// A [Link] is sans-IO. Opened packets go in at [Link.Receive], packets to be
// sealed come out of [Link.Flush], which is called once a tick and told the
// time. It is not an authenticator (net/netcode opens and seals), not a
// handshake and not a scheduler, and one goroutine uses it at a time.
//
//	l, err := link.New(link.Config{Epoch: 1})
//	...
//	for _, packet := range opened { // every tick
//		if err := l.Receive(packet); err != nil {
//			malformed++ // changed nothing; treat it as lost
//		}
//	}
//	for channel, message, ok := l.Next(); ok; channel, message, ok = l.Next() {
//		handle(channel, message)
//	}
//	l.SendDatagram(input)
//	l.Flush(now, func(packet []byte) { connection.Send(packet) })
//	if l.Dead() {
//		drop(l.Err())
//	}
//
// # What leaves in a tick
//
// Datagrams queued since the last Flush always leave in it, together in one
// packet. What the reliable channel has to say rides beside them where it
// fits, and takes further packets as long as [Config.BytesPerSecond] lasts.
//
// Over the KCP core runs a stream of length-prefixed messages, cut into
// segments as the budget allows. KCP's own fragments are not used: a message
// handed to the core is sent as fast as the peer's window opens, so that a
// budget could only be kept by losing segments on purpose; and many small
// messages of one tick share a segment. The layout is in section 3 of
// net/wire/STANDARD.md.
//
// Datagrams pass through as they come: doubled, reordered or late ones are
// handed out like any other. Only the strategy that owns a message knows
// which tick it supersedes; a filter here would be a second opinion.
//
// # The clock
//
// The KCP core reads the process's monotonic clock, for retransmission only.
// Everything of this package's own (budget, timeout, round trip) goes by the
// time that Flush is told. Tests let both agree in a testing/synctest bubble.
//
// # Tasks
//
//   - open a link: [New]
//   - send what must arrive: [Link.SendReliable], with [Link.Pending] to pace bulk
//   - send what must be fresh: [Link.SendDatagram]
//   - notice a peer that is gone or lies: [Link.Dead], [Link.Err]
//   - restart a match on a live connection: [Link.SetEpoch]
//   - chart a connection: [Link.Stats]
package link

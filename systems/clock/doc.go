// Package clock paces a client and maps clocks onto each other: how fast a client's ticks follow each other, how far
// ahead of the server it runs so that its inputs arrive just before they are used, and what the other side's clock
// shows.
//
// The two needs must not be merged. Arriving in time is what [Lead] does: it is driven by what the server measured of
// earlier inputs, never by an estimate of the server's clock. Mapping one clock to another, for stamps in absolute
// time, is what the exchange does: a [Prober] on the client and an [Answerer] on the server, one for each client.
//
// The exchange is that of Cloud Wu's note on position sync: the client asks, the server answers with when it heard the
// question and when it answered, and a third message lets the server compute as well. Each side keeps its own zero; only
// the difference matters. Every exchange bounds the difference by its round trip, the bounds of the last 32 are
// intersected, and what is used follows the estimate without jumps ([Remote]).
//
// It is not NTP: no clock is set, and of one path's asymmetry nothing can be known; an estimate may be off by half of
// the round trip. What shows that it is off is a stamp that seems to come from the future, on either side ([Remote.Heard]).
//
// Nothing here reads a clock; the time comes in as an argument.
//
// # Example
//
//	probe, err := clock.NewProber(clock.Config{})          // on the client
//	answer, err := clock.NewAnswerer(clock.Config{})       // on the server, for this client
//	...
//	if clock.Owns(message) {                               // on both sides, for each message
//		return probe.Receive(message, now)
//	}
//	for m := probe.Append(buf[:0], now); len(m) > 0; m = probe.Append(buf[:0], now) {
//		out.Send(0, systems.Datagram, m)                   // on both sides, whenever messages are sent
//	}
//	at, ok := probe.ToRemote(now)                          // what the server's clock shows
//
// # Tasks
//
//   - Follow the server's ticks: [Pacer], [Lead].
//   - Exchange times: [Prober], [Answerer], [Owns].
//   - Convert times: [Remote.ToRemote].
//   - Notice that the estimate is wrong: [Remote.Heard].
package clock

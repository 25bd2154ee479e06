// Package rate controls how many bytes per second one end of a connection sends, so that a slow line is not overloaded.
//
// A [Controller] numbers the packets that it sends. It counts those that it receives, and reports the counts to the other end
// ten times a second, in [ReportSize] bytes. A report that needs a packet of its own may wait for 200 ms. From the reports of the
// other end it computes the delivered rate, the loss and the queue of the line. The queue is the one-way delay above its minimum of the last 10 to 20 s. The clocks of the ends need
// not agree.
//
// # Control
//
// The controller is Google Congestion Control (draft-ietf-rmcat-gcc-02, sections 5 and 6), with these differences:
//
//   - Overuse is a standing queue of more than 80 ms, instead of a rising one. A tick of delay at each end is no overuse. While
//     hardly any ticks are sent, the queue may be longer by a packet: at 8 KB per second one takes 150 ms.
//   - After overuse the rate is 0.85 of the delivered rate. Above 250 ms of queue the factor falls to 0.4, so that a queue
//     of a second drains in about two seconds.
//   - The rate doubles in each round trip until the first overuse, as in slow start (RFC 5681), while more than half of it is
//     used. Later it grows while more than 0.8 of it is used: by half below three quarters of the highest delivered rate, and
//     otherwise by 3 %. An increase of 3 % is limited to 100 to 1200 bytes per second. After slow start the rate is at most 1.2
//     times the highest delivered rate, so that a sudden growth of the messages of a tick fills a short queue only.
//   - The lowest rate is half of the highest delivered rate, limited to 2 to 4 KB per second. The queue of a line that carries 1.3
//     times the need then drains within 3 s. While other flows cause loss, the messages of ticks have 0.8 of it, so that some
//     arrive.
//   - A queue that stays for 2.5 s, although the rate is low, is attributed to other flows. Loss then decides alone, until the
//     queue has fallen by a quarter. This is the mode switching of Copa (Arun and Balakrishnan, NSDI 2018). Above 2 % of loss the
//     rate falls to three quarters in each round trip. Otherwise it grows by 1200 bytes per second in each, about as TCP does.
//   - If loss and queue stay for 2.5 s more, with the lowest rate, the controller has no part in either. The delay is then taken for
//     that of a longer route: the queue is the delay above it.
//   - Loss without a queue is no congestion. A loss of 15 % limits the rate to 1.4 times the delivered rate.
//
// # Ticks
//
// Bulk data is sent within [Controller.Rate]. Messages of a tick are not limited before the first overuse. After an overuse
// [Controller.Ready] returns false in some ticks, so that the messages take at most seven eighths of the rate. The limit ends
// when no tick was skipped for 10 s. A message must therefore repeat the content of a skipped one.
//
// # Hostile peers
//
// Reports of packets that were not sent have no effect. No report raises the rate above the limit of [New]. A peer that sends
// no reports is sent at most 4 KB per second.
package rate

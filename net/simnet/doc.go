// Package simnet is the simulated network: seeded, bounded, and the same to the last bit in every run.
//
//   - [Network] carries messages: nodes with clocks of their own, links, and a
//     model of both channels, in virtual time on one goroutine. The lab, the
//     swarm and the tests of strategies, sessions and rooms use it.
//   - [DatagramNet] carries datagrams: its [PacketConn] takes the place of a UDP
//     socket below net/netcode, with real goroutines. Inside a testing/synctest
//     bubble its time is virtual; outside it is real.
//   - [Proxy] is a real UDP relay that does to real packets what a link does to
//     simulated ones.
//
// All three share one model of a link, [Profile]: what happens to packets on the way up and on the way down. The
// standard ones are P0 … P9 ([ByName]). The model has no TCP, no routing and no congestion between links. It does not
// interpret messages.
//
// Each direction of a link has its own generators, seeded by the root seed and its two ends: adding a link or traffic
// elsewhere shifts nothing. Outages and wandering delays do not depend on the traffic. All draws are made in integers, so
// a seed means the same on every target.
package simnet

// Package simnet is the simulated network: seeded, bounded, and the same to the last bit in every run.
//
//   - [Network] carries messages: nodes with clocks of their own, links, and a
//     model of both channels, in virtual time on one goroutine. Tests of
//     strategies, sessions and rooms use both channels. The lab and the swarm
//     use datagrams alone, which contain packets of net/link.
//   - [DatagramNet] carries datagrams: its [PacketConn] takes the place of a UDP
//     socket below net/netcode, with real goroutines. Inside a testing/synctest
//     bubble its time is virtual; outside it is real.
//   - [Proxy] is a real UDP relay that does to real packets what a link does to
//     simulated ones.
//
// All three share one model of a link, [Profile]: what happens to packets on the way up and on the way down. The
// standard ones are P0 … P12 ([ByName]). Links have bottlenecks of their own, or share one: see Path.Line. [Cross] is traffic
// of others through a bottleneck. The model has no TCP and no routing. It does not interpret messages.
//
// Faults at a given time:
//
//   - cut a link: one direction with [Network.Cut], both with [Network.Partition]
//   - stop a node: [Network.Pause], [Network.Crash], [Network.Restart]
//   - fill a queue: [Network.Cross]
//   - move a socket to another address, as a NAT does: [DatagramNet.Rebind]
//   - drop, duplicate or delay chosen messages: [Network.Script]
//
// Each direction of a link has its own generators, seeded by the root seed and its two ends: adding a link or traffic
// elsewhere shifts nothing. A shared line has a generator of its own. Outages, wandering delays and cross traffic do not
// depend on the traffic. All draws are made in integers, so
// a seed means the same on every target.
package simnet

// Package simnet is the simulated network: seeded, bounded, and the same to the last bit in every run. It has two
// floors and a proxy for real packets.
//
//   - [Network] is the message floor: nodes with clocks of their own, links,
//     and a model of both channels, in virtual time on one goroutine. The lab,
//     the swarm and the tests of strategies, sessions and rooms stand on it.
//   - [DatagramNet] is the datagram floor: its [PacketConn] takes the place of
//     a UDP socket below net/netcode, with real goroutines. Inside a
//     testing/synctest bubble its time is virtual; outside it is real.
//   - [Proxy] is a real UDP relay that does to real packets what a link does
//     to simulated ones.
//
// All three share one model of a link, [Profile]: what happens to packets on the way up and on the way down. The
// standard ones are P0 … P9 ([ByName]).
//
// It does not model TCP, routing or congestion between links, and it does not interpret messages.
//
// # Example
//
//	n := simnet.New(simnet.Config{Seed: 1})
//	server := n.AddNode(simnet.Clock{})
//	client := n.AddNode(simnet.Clock{Offset: 3 * time.Second, DriftPPM: 50})
//	bad, _ := simnet.ByName("P5")
//	if err := n.Connect(client, server, bad); err != nil {
//		return err
//	}
//	n.OnMessage(server, func(from simnet.NodeID, ch simnet.Channel, payload []byte, now simnet.Time) { … })
//	n.Every(client, n.LocalNow(client), 60, func(k int64, now simnet.Time) {
//		n.Send(client, server, simnet.Datagram, input)
//	})
//	n.RunUntil(10 * time.Second)
//
// # Tasks
//
//   - Describe a link: [Profile], [Path], [Jitter], [Burst], [Walk], [Symmetric], [ReadTrace].
//   - Run nodes: [Network.AddNode], [Network.Connect], [Network.OnMessage], [Network.Every], [Network.Send], [Network.RunUntil].
//   - Inject faults: [Network.Script], [Network.Cut], [Network.Partition], [Network.Pause], [Network.Crash],
//     [Network.Restart], [Network.StepClock], [Network.SetProfile], [Network.At].
//   - See what happened: [Network.TraceHash], [Network.Counters].
//   - Test real sockets' code: [NewDatagramNet], [DatagramNet.Listen], [DatagramNet.Route], [DatagramNet.Inject].
//   - Spoil a real connection: [NewProxy].
//
// # Randomness
//
// Each direction of a link has its own generators, seeded by the root seed and its two ends: adding a link or traffic
// elsewhere shifts nothing. Outages in time and wandering delays have generators apart from those of the packets, so
// different traffic meets the same weather. All draws are made in integers, so a seed means the same on every target.
package simnet

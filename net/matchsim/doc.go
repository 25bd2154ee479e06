// Package matchsim runs a whole match in virtual time: a room and its clients on a simulated network, without sockets
// and without a real clock. The same Config and the same calls give the same match, tick by tick.
//
//	m, err := matchsim.New(matchsim.Config{Game: game, Strategy: relay.Strategy, Seed: 1})
//	c := m.Join(matchsim.Plan{Profile: typical})
//	m.Run(5 * time.Second)
//	fmt.Println(c.Live(), c.Checked, c.Mismatches)
//
// The room and the clients are those of production. Below the session is the message layer of net/simnet. With Config.Links, it is
// net/link over the datagrams of net/simnet. Sealing and sockets are not simulated.
//
// Unless Config.Unchecked is set, every state that a client confirms is compared with the server's state of that tick.
// A match with a [Journal] can crash and recover.
//
// Package matchtest uses matchsim for tests, package lab to compare strategies, and the verb profile to measure costs. The
// strategies' own tests use matchsim, or its lower layer, package halves, which has no room.
//
// # Tasks
//
//   - run a match: [New], [Match.Join], [Match.Run], [Match.Err]
//   - run a match in steps that can be stopped: [Match.Play]
//   - change one client's copy of a tick: [Client.Fault]
//   - replace a client's process or connection: [Client.Restart], [Client.Reconnect], [Client.Leave]
//   - end the server's process and start the next one: [Match.Crash], [Match.Recover]
//   - keep a room's match in memory without a Match: [Journal.Attach], [Journal.Resume]
package matchsim

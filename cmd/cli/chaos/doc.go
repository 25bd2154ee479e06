// Package chaos tests a cluster of real processes: three NATS servers, three game servers, and clients with bots, with faults that are
// drawn from a seed. Package cmd/cli/swarm tests single servers in virtual time, and net/cluster the protocol of the cluster.
//
// The faults are: kill -9 of a game server; kill -9 of a NATS server, of the leader of the rooms, and of two of three; SIGSTOP of a
// game server; partitions between a game server and one or all NATS servers, and between two NATS servers, also in one direction only;
// a full disk and a slow disk of a NATS server; steps of the clock of a game server and of a NATS server, from a second to 100 days in
// either direction; and drained and restarted game servers. All connections to NATS servers pass through proxies, which delay the bytes
// of a partition and deliver them when it heals, as TCP does.
//
// The checker collects every tick that any client received as confirmed, with the hash chain of its inputs and the checksum of its
// state. During the run and at the end it checks:
//
//   - A tick of a room has one value, on all clients, before and after each takeover.
//   - The log of the room has every confirmed tick, with the same inputs. Its entries form one chain.
//   - No client ends, changes its seat, or is sent to another match.
//   - While two of three NATS servers are down, players are notified that their match waits.
//   - After a pause, a game server checks with the cluster which rooms it owns. Another test checks that it sends no packet before the reply.
//   - After each fault all clients confirm ticks again. The next fault follows when all streams of NATS have a leader and replicas that are up to date.
//
// The run prints its seed. By kind of fault, it prints the longest gap of each client, and the number of players who noticed the
// fault. A gap is the time between the arrivals of two messages with newer ticks. A player notices a fault if the client shows it: after
// client.ShownAway, half a second. With -chaos.time it also compares the gaps with their limits. In planned moves, at most six ticks may be missing
// for 99 % of the clients. If the other rooms have long gaps at the same time, three ticks more than their gap are allowed. During planned moves, no
// client may load a state of the server.
//
// A NATS server with a slow disk is one that is stopped for 80 of each 100 ms. The NATS servers store their files in memory. If they
// have not elected a leader half a minute after a fault, they are started again, and the run reports it. The game is a small one, because
// the simulations of 160 clients would take the time of two cores from the servers.
//
//	go test ./cmd/cli/chaos -run 'TestChaos$' -chaos.time=20m -chaos.seed=7 -timeout 1h -v
//	TENDON_LONG=1 go test ./cmd/cli/chaos        a minute, with one fault of each kind
//
// The seed decides the kinds, the order, the targets and the lengths of the faults. The scheduling of processes is not repeated.
// The run needs Linux; the full disk needs root, for a small file system, and the steps of clocks need amd64 and ptrace(2).
//
// # Tasks
//
//   - add a kind of fault: faults_test.go
//   - the clock of a process: clock_test.go
//   - the checks: checker_test.go
//   - the processes: nats_test.go, servers_test.go, players_test.go
package chaos

// Package swarm tests whole servers in virtual time, with faults that are drawn from a seed: tokens, encryption, channels, rooms
// that share a worker, and journals. cmd/arena/swarm tests single rooms.
//
// A [Schedule] lists the clients and the faults. While they occur, and after the last one, the judge checks:
//
//   - A tick that a client confirmed has the same state on all clients of the room, before and after each restart.
//   - No state differs, and no client ends.
//   - Each client is back in its seat within a bound after the last fault, and its match continues. A recovered match waits for all
//     its players, so the bound of the slowest is that of the room. A second later, the client confirms at least 100 of 120 ticks in
//     two seconds. It confirms 40 to 60 if its line may fade, or if cross traffic may fill the queue of the line.
//   - A room begins another match only if its journal was damaged, or with --fsync never after a power cut.
//   - With --fsync always, no confirmed tick is lost, also if the process is killed or the power is cut while the disk stalls, fails
//     or is full. With 100ms, a power cut loses at most 200 ms. A kill loses ticks only while the disk stalls: at most 6 s. With
//     never, a kill loses no more than with 100ms, and a power cut may lose all.
//   - A match whose journal cannot be written waits. The other rooms compute all their ticks in time.
//
// A failing run prints its schedule as JSON, and the command that repeats it. Schedules in testdata failed once; they remain
// valid if the generator changes.
//
//	go test ./cmd/cli/swarm                                          a few seeds
//	go test ./cmd/cli/swarm -run 'TestSwarm$' -swarm.first=7 -swarm.seeds=100
//	go test ./cmd/cli/swarm -run 'TestSwarm$' -swarm.file=failed.json
//	go test ./cmd/cli/swarm -run 'TestSwarm$' -swarm.seeds=1 -swarm.shrink   print the smallest schedule that fails
//
// The clock of the server's host is stepped by up to 12 hours, also over a restart. Timeouts are measured with the monotonic clock.
// Reconnect tokens must stay valid after the steps, except after a step forward by hours less than 45 s before a process begins.
//
// # Tasks
//
//   - add a kind of fault: schedule_test.go lists and draws them, faults_test.go applies them
//   - the checks: judge_test.go; those of journals and disks: promises_test.go
//   - seeds, stored schedules, shrinking: swarm_test.go
package swarm

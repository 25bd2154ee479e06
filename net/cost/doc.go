// Package cost accounts what ticks cost: each phase of the engine and each system of the game, forward and computed
// again, in every run.
//
// A [Ledger] is an ecs.Observer with a clock. A room or a client tells it of every section that it enters and leaves, and
// of the end of every turn, which is one Frame with what was received and shown since the one before:
//
//	ledger, err := cost.New(cost.Config{Game: game, Name: "client"})
//	...
//	client.Dial(client.DialConfig{Token: token, Config: client.Config{Game: game, Observer: ledger, ...}})
//	...
//	report := ledger.Latest() // from any goroutine, at any time
//	fmt.Print(report.Text())
//
// # Self and total
//
// Sections nest: systems run inside of the tick, the tick inside of a rollback, that inside of the frame. A row's Total,
// P50, P99 and Max are from Enter to Leave, with all that was nested inside. Its Self and Share are without: the shares
// of all rows add up to the part of the budget that was used, however deep they lie. Systems have nothing inside, so both
// are the same. What stands between sections is the self time of the one around them: "simulate" is a tick without its
// systems, "frame" a Frame without everything that has a name.
//
// A tick that is computed again is in the row "resimulate", and its systems in rows of their own; saves, restores and
// checksums are in one row each, wherever they happen. Times are those of the wall: where another process or the garbage
// collector has the processor, the section that waits is charged. Quantiles hardly notice, sums and the largest do.
//
// # What it takes
//
// Two looks at the clock and one at a histogram a section, some 100 ns, and no allocation once every row was used:
// `go run ./bench -row costs` compares that with 1 % of a tick. Quantiles are brought up to date one row a turn, so that
// no turn pays for all.
//
// # When a tick was late
//
// Report.Largest is the dearest turn, with its tick, the depth of its rollback and what each row took. A [Recorder]
// leaves a trace of the process's last seconds, with such a table, whenever a turn exceeds its budget: bounded in number
// and rate, and written by another goroutine. [LabelSamples] has the samples of a CPU profile carry the labels system,
// phase and side.
//
// It is not a tracer: single calls are not kept, but for those of the largest turn. It is no part of the simulation,
// which reads no clock and is told nothing.
//
// Tasks:
//   - account a room or a client: [New], room.Config.Observer, client.Config.Observer
//   - show it while it runs: [Ledger.Latest]
//   - show it at the end, several as one: [Ledger.Merge], [Ledger.Report], [Report.Text], [Report.Line]
//   - count allocations: [Config].Allocs
//   - leave a trace of slow ticks: [NewRecorder]
//   - label a CPU profile: [LabelSamples]
//   - compare two runs of the same load: [Ledger.Cut], [Report.Least], [Compare]
package cost

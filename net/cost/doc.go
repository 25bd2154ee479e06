// Package cost measures the costs of ticks: each phase of the engine and each system, forward and resimulated, in every run.
//
// A [Ledger] is an Observer with a clock. A room or a client calls it for every section that it enters and leaves, and at
// the end of every turn. A turn is one Frame with the receiving and presenting since the Frame before. Rooms and clients take
// the ledger as Config.Observer.
//
// # Self and total
//
// Sections nest: systems are inside the tick, the tick is inside a rollback, and that is inside the frame. A row's Total,
// P50, P99 and Max are from Enter to Leave and include nested sections. Self and Share exclude them, so the shares of all
// rows add up to the used part of the budget. Systems have no nested sections. Time between sections is the self time of
// the section around them: "simulate" is a tick without its systems, and "frame" is a Frame without its sections.
//
// A resimulated tick is in the row "resimulate", and its systems have rows of their own. Saves, restores and checksums have
// one row each. Times are wall time: they include waits for the processor and the garbage collector. These waits
// change sums and maxima, but hardly the quantiles.
//
// A section costs two clock readings and one histogram record, about 100 ns, and no allocation after the first use of a row.
// `go test ./bench -bench Costs` compares that with 1 % of a tick.
//
// # Late ticks
//
// Report.Largest is the longest turn, with its tick, the depth of its rollback and the time of each row. A [Recorder] keeps a
// trace of the process's last seconds, with such a table, when a turn exceeds its budget.
//
// # Bytes
//
// With [Config].Bytes, the ledger of a room counts the bytes of the strategy's messages, by component and by kind of entity: see
// [Report].Bytes. The encoders report them through [image.ByteObserver]. A [tendon/net/cost/traffic.Meter] counts only these bytes.
//
// The package is not a tracer: it keeps single calls of the longest turn only. It is no part of the simulation, which reads
// no clock.
//
// # Tasks
//
//   - show it while it runs: [Ledger.Latest]
//   - show it at the end, several as one: [Ledger.Merge], [Ledger.Report], [Report.Text], [Report.Line]
//   - count allocations: [Config].Allocs
//   - leave a trace of slow ticks: [NewRecorder]
//   - measure bandwidth by component: [Config].Bytes, [tendon/net/cost/traffic.Bytes]
//   - label a CPU profile: [LabelSamples]
//   - divide a run into slices, for comparisons: [Ledger.Cut]
package cost

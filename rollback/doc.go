// Package rollback runs a world ahead of its confirmed ticks, and restores and resimulates it when a confirmed tick
// differs from the predicted one.
//
// A [Timeline] holds [Snapshots] of recent ticks, the inputs of each tick, and an [OrderLog]. It reads
// no clock and sends nothing: confirmations and orders go in, states come out. Rewind reaches every tick in the ring, and Step
// computes the ticks again. A [SavePolicy] selects the ticks to save; all policies give the same states. [Effects] reports each
// event to a view once, however often its tick is simulated.
//
// [SyncTest] tests whether a game is deterministic. It predicts wrong inputs for a random number of ticks, confirms the
// right ones, and compares every tick with a run without rewinds on one core. A difference is returned as a [DesyncReport],
// which names tick, component, entity and field with both values.
//
// The package is not a strategy: which ticks to confirm, how far to predict and what to send is decided in
// tendon/systems. Recordings and journals are in tendon/rollback/record.
//
// # Tasks
//
//   - run a predicted world: New, Timeline.Confirm, AddOrder, Rewind, Step
//   - set the local player's input: Timeline.SetLocal
//   - find out what is final: Timeline.Confirmed, InputAt
//   - go back to a past tick: Timeline.Oldest, Rewind, Step
//   - simulate the past in a second world: Timeline.Fork, Follow; Snapshots.Fork
//   - compare a confirmed tick with a peer: Timeline.Snapshot, then Checksum
//   - start from a received image: image.Image.Load, then Timeline.Reset
//   - report events to a view: NewEffects, Effects.Drain
//   - compare the orders of two peers: DigestOrders; give random ones in a test: RandomOrder
//   - store past states without predicting: NewSnapshots
//   - store a value per tick: NewRing
//   - test a game: SyncTest
//   - explain a desync: CompareSnapshots, DesyncReport
package rollback

// Package rollback runs a world ahead of what is confirmed and puts it right when the confirmation differs: save,
// rewind, resimulate.
//
// A [Timeline] owns [Snapshots] of recent ticks, an [InputLog] that knows of every input whether it was predicted,
// substituted or confirmed, and an [OrderLog]. It reads no clock and sends nothing: confirmations and orders go in,
// states come out. A [SavePolicy] chooses which ticks are saved; all policies give the same states. [Effects] tells a
// view of each event once, however often its tick was simulated.
//
// [SyncTest] is how a game is shown to be deterministic: it runs it with wrong inputs at random depth before the right
// ones and compares every tick with a straight run. A difference comes back as a [DesyncReport] that names tick,
// component, entity and field with both values.
//
// The package is not a strategy: which ticks to confirm, how far to predict and what to send is decided in
// tendon/systems. Recordings are in tendon/rollback/recording.
//
//	to                                                   use
//	run a predicted world                                New, Timeline.Confirm, AddOrder, Rewind, Step
//	give the local player's input                        Timeline.SetLocal
//	know whether to wait                                 Timeline.Stalled, ErrStalled
//	know what is final                                   Timeline.Confirmed, InputAt
//	compare a confirmed tick with a peer                 Timeline.Snapshot, then Checksum
//	start from a received image                          World.LoadImage, then Timeline.Reset
//	tell a view of events                                NewEffects, Effects.Drain; where none is predicted: News
//	prove that two peers hold the same orders            DigestOrders
//	know how much of the past a tick's orders need       LookBack
//	keep past states without predicting                  NewSnapshots
//	keep any value per tick                                NewRing
//	test a game                                          SyncTest
//	explain a desync                                     CompareSnapshots, CompareImages, DesyncReport
//	tell how a resynced state differed                   Comparison.With
package rollback

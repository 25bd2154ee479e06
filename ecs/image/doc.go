// Package image is the store of a simulated state: columns of plain data cut into pages, with snapshots that share pages,
// checksums, codecs and comparisons.
//
// An [Image] is the state of one ecs.World. Sync strategies, tools and tests use it; a game is written against package ecs.
// It has no game code: systems, hooks, typed components and donburi entries are in package ecs. It keeps no history: a ring
// of snapshots is in package rollback.
//
// # Model
//
// A [Schema] lists the columns: the engine's own (tick, inputs, entity), then the game's resources and components. A column
// has a region of rows for each [Owner], and one bit per row for presence. Presence and rows are cut into pages of about 4
// KiB. Rows without an entity and padding are zero, so equal states are equal byte for byte, whatever their history.
//
// A [Snapshot] is a table of pages. [Image.Save] copies the pages that were written since the last save and shares the
// others. [Image.Restore] copies back the pages that differ. A page that nothing marked as written equals its base; one
// unmarked page per save is compared in rotation, and [Image.Strays] counts writes without a mark.
//
// # Tasks
//
//   - go back and compare: [Image.Save], [Image.Restore], [Snapshot.Checksum], [FirstDifference], [Changed]
//   - take the state of another world: [Image.Copy]
//   - send or store a state: [Snapshot.AppendImage], [Image.Load], [Image.LoadOwned]; its changes:
//     [Snapshot.AppendDelta], [Image.ApplyDelta]
//   - replicate entities: [Snapshot.AppendScalars], [Image.PutEntity], [Image.DropRow], [Image.PutResource]
//   - predict some rows: [Image.SetPredicted], [Image.Overlay], [Deviation]
//   - read one entity: [Snapshot.EntityAt], [Snapshot.Motion], [Snapshot.Describe], [Schema.FindField]
//   - compensate lag: [Image.SetPast], [OrderView], [Image.Seen], [Image.Targets]
//   - place entities for an authoritative client: [OrderMotion], [Placement], [Image.Placed]
//   - show several timelines in a view: [Picture]
//   - find writes that were not declared: [Image.UndeclaredWrite], [Image.Strays]
package image

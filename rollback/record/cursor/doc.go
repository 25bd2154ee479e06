// Package cursor seeks to any tick of a record and describes it: inputs, orders, events, and every entity with every field.
// It also lists a field over a range of ticks, and finds the first tick in which two records differ.
//
// A [Cursor] simulates the match from the keyframe before the tick, at most five seconds of it. It keeps the ticks that it
// simulated last, so that steps and scrubbing nearby cost a restore. A seek to a random tick takes 5 ms of CPU time in the
// median and 13 ms at worst. That was measured in ten minutes of eight bots in the arena, on a busy AMD EPYC:
//
//	go test ./rollback/record/cursor -run - -bench Seek -benchtime 300x
//
// The package runs on its caller's goroutine. It measures ticks with the clock that it receives.
//
// # Tasks
//
//   - open a record: New
//   - seek, step, step back: Cursor.Seek
//   - describe a tick: Cursor.Frame, Cursor.State with image.Snapshot.DescribeResources
//   - list entities, describe one: Cursor.State, Entity
//   - draw the tick: Cursor.State, StateBefore with ecs.View
//   - name an entity, find it by its name: EntityName, ParseEntity, Cursor.Find
//   - find out when an entity existed: Cursor.Lifetime
//   - plot a field: Cursor.Series
//   - compare two records: Compare, Differences
//   - find joins, events, orders and desyncs: Cursor.Marks
//   - show only what a player may know: Cursor.As
//
// # JSON
//
// [Frame], [Entity], [image.Record], [Series], [Lifetime] and [Comparison] are written as their tags say. A value is
// {"path": "Pos.X", "text": "-2.5", "number": -2.5}. The path is the field as desync reports name it, the text is as fmt
// prints it, and the number is null if the value is none. 64-bit integers are exact only in the text. Checksums are 16
// hexadecimal digits. Entities are named as EntityName does.
package cursor

// Package events holds how clients hear of the events of ticks that only the server computes for good: what the last ticks
// emitted, which of it a peer was sent, and whether a client was sent all of it.
//
// A tick's events go out by themselves, on the reliable channel; the news of a state come otherwise, and say which events
// belong before them. What an event does to what was predicted is rollback's matter.
//
// # Tasks
//
//   - keep what ticks emitted: [Log]
//   - tell a peer: [Hearer]
//   - hear of it, and settle what did not happen: [Heard]
package events

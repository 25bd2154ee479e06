// Package checks holds what the halves of every strategy refuse, and in which words: configurations as errors that name
// the field, and what only a mistake of the caller's can ask for as panics that say what to do. What comes off the wire
// is not its matter: that is refused by who reads it.
//
// # Tasks
//
//   - check what a half is made with: [Server], [Client], [InputDelay], [Prediction]
//   - check what a player asks for: [Order]
//   - check what a room does: [Seat], [Held], [Stamp], [Adopt]
package checks

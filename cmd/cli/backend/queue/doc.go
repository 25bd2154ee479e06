// Package queue decides which waiting players play together. It is a state machine over a log of events: tickets, cancellations,
// passes of a match function, rooms that request players, and bans. It reads no clock, and equal logs give equal states.
//
// # Events
//
// A State checks a request (Submit, Cancel, Backfill, Pass, SetBan) and returns the event that it causes. The caller stores the event and
// then calls Apply. A process that starts calls Apply with each stored event and has the same state: no ticket is lost, and no seat
// is given to two tickets. Snapshot returns one event that replaces all events before it.
//
// # Match functions
//
// A Match function receives the waiting groups of one queue and the time, and returns who plays together. It must be a function
// of its argument alone, as the systems of a game: no clock, no random source, and no map iteration that reaches the result. Replay
// calls it again for every stored pass and compares the results.
//
//	cli.Program{Game: game, Match: func(v queue.View) []queue.Proposal {
//		if v.Queue == "ranked" {
//			return queue.ByRating(queue.Rating{Attribute: "rating", Spread: 100, PerSecond: 20})(v)
//		}
//		return queue.Fill(v)
//	}}.Run()
//
// # Tasks
//
//   - match players: Fill, ByRating, or a function of type Match
//   - keep the state: State.Submit, State.Cancel, State.Backfill, State.Pass, State.Move, State.Apply, State.Resume
//   - refuse a player: State.SetBan, State.Banned
//   - store it: Event.Append, Events
//   - check a log: Replay
package queue

// Package vote decides by majority: on the result of a match, and on its state while it runs. It is for strategies whose
// server orders the players' operations and need not compute the match.
//
// A [Ballot] decides a result. Each registered player votes for a result: the last tick, the bytes and the state. The votes
// of more than half of the registered players win. Without such a majority, the server replays the match from its log, and
// that result is final. The majority is of the registered players, not of the voters. Otherwise two colluding voters would
// beat two absent ones.
//
// [Hashes] votes in the same way on the checksum of every 60th tick. A player whose checksum contradicts the majority, or
// the server where it computes the tick, gets a strike. The player is resynced, and removed at the third strike.
//
// Voting cannot detect a majority that colludes. Audits do: the server replays a share of accepted results, drawn from a
// secret seed. It also replays all results from which a player without a strike dissents.
//
// An [Adjudicator] runs both for a server, and computes a world that is behind as far as they need it. No function reads a
// clock or blocks.
//
// # Tasks
//
//   - Decide the matches of a server: [NewAdjudicator], adjudicator.go, settle.go.
//   - Follow a vote to its verdict: ballot.go. Read the verdict: [Verdict], systems.How.
//   - Follow a checksum to a strike: hashes.go.
package vote

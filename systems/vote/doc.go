// Package vote decides the result of a match by majority, and finds players whose state differs by proof. It is for strategies whose
// server orders the players' operations and need not compute the match.
//
// A [Ballot] decides a result. Each registered player votes for a result: the last tick, the bytes and the state. The votes
// of more than half of the registered players win. Without such a majority, the server replays the match from its log, and
// that result is final. The majority is of the registered players, not of the voters. Otherwise two colluding voters would
// beat two absent ones.
//
// [Hashes] compares checksums of every 60th tick. If the checksums of two players differ, the server computes its world up to
// that tick. Only a player whose checksum differs from the server's gets a strike: a majority proves nothing. The player
// is resynced, and removed at the third strike. If a player was struck in a match, their vote on its result counts for no
// majority.
//
// No tick is computed twice. Where all checksums agree, none is computed. A liar can cause three computations until removed.
//
// Voting alone cannot detect a majority that lies only about the result. Such a result is accepted, and if players dissent
// it is marked systems.Disputed. Two settings let the server replay accepted results. Config.AuditPerMille is a share of
// them, drawn from a secret seed. Config.DissentReplays lets each player's dissents cause a bounded number of replays.
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

// Package vote decides the result of a match by majority, and proves which players have a wrong state. It is for strategies in
// which the server only fixes the order of the players' operations.
//
// A [Ballot] decides a result. Each registered player votes for a result: the last tick, the bytes and the state. The votes
// of more than half of the registered players win. Without such a majority, the server replays the match from its log, and
// that result is final. The majority is of the registered players, not of the voters. Otherwise two colluding voters would
// beat two absent ones.
//
// [Hashes] compares checksums of every 60th tick. If the checksums of two players differ, the server computes its world up to
// that tick. Only a player whose checksum differs from the server's gets a strike: a majority proves nothing. A
// player also gets one for claiming an end of the match that the server's replay does not have. The player is resynced, and
// removed at the third strike. The vote of a player with a strike in a match does not count toward a majority.
//
// No tick is computed twice. Equal checksums cause no computation. A player who sends wrong checksums causes at most three,
// because the third strike removes the player. Audits and results without a majority cause replays in addition.
//
// Voting cannot detect a majority that lies only about the result. Such a result is accepted. If other players dissent, the
// result is systems.Disputed. Two settings let the server replay accepted results. Config.AuditPerMille is a share of
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

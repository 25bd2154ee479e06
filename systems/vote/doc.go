// Package vote decides by majority: on the result of a match, and on its state while it runs. It is for strategies whose
// server orders the players' operations and need not compute the match.
//
// A [Ballot] decides a result. Each registered player votes for a result: the last tick, the digest and the state. A vote of
// more than half of the registered players wins at once. Where voting ends without one, the server replays the match from
// its log, and its result is final. The majority is of the registered players, not of the voters. Otherwise two colluding
// voters would beat two absent ones.
//
// [Hashes] votes in the same way on the checksum of every 60th tick. A player whose checksum contradicts the majority gets a
// strike; so does one that contradicts the server where it computes the tick itself. The player is resynced, and removed at
// the third strike.
//
// Voting cannot detect a majority that colludes. Audits do: the server replays a share of accepted results, drawn from a
// secret seed. It also replays all results from which a player with a clean history dissents.
//
// The package replays and sends nothing. It reports that a replay is needed. The caller has the log and the binary of the
// clients; it may start from a checkpoint, on another machine and later. If a replay fails, [Ballot.Majority] still returns
// an audited majority; a match without one is void. No function reads a clock or blocks, and after construction none
// allocates.
//
//	ballot, err := vote.NewBallot(vote.Config{AuditPerMille: 20, AuditClean: true, Seed: secret})
//	ballot.Open(world.Players(), hashes.Clean(), now)   // the match has ended
//	ballot.Cast(player, vote.Result{End: end, Digest: digest, Hash: sum}, now)
//	if ballot.Step(now) == vote.Replaying {             // in every tick
//		ballot.Replayed(replay(log))                    // once it is done
//	}
//	verdict, ok := ballot.Verdict()                     // ok once Closed
//
//	hashes, err := vote.NewHashes(vote.HashesConfig{})
//	hashes.Open(tick, players, now)                     // the server has reached the tick
//	hashes.Cast(player, tick, sum, now)
//	hashes.Step(now)
//	hashes.Blamed(func(p ecs.Player, tick ecs.Tick, strikes int) { … }) // resync it, then Resynced; at 3 remove it, then Forget
//	hashes.Contested(func(tick ecs.Tick) { … })         // replay up to it, then Truth
//
// # Tasks
//
//   - Follow a vote to its verdict: ballot.go. Read the verdict: verdict.go, systems.How.
//   - Follow a checksum to a strike: hashes.go, check.go.
//   - Strikes of a player, and a new player in a seat: history.go.
package vote

// Package vote believes clients by majority: about the result of a match, and about its state while it runs. It is for
// strategies whose server orders what players do but need not compute it.
//
// A [Ballot] decides a result. Each registered player claims where the match ended, with which result and in which
// state. A claim that more than half of the registered players make wins at once. Where voting ends without one, the
// server plays the match again from its log, and what it computes is final. The majority is of those registered, not
// of those who vote, or two who collude would beat two who are silent.
//
// [Hashes] votes in the same way on the checksum of every 60th tick. Who contradicts the majority, or the server where
// it computes the tick itself, is blamed: it is to be resynced, and removed at the third time.
//
// A majority that colludes cannot be seen by voting. Audits are against it: a share of accepted results, drawn from a
// secret seed, and all from which a player with a clean history dissents, are played again.
//
// It is not a replayer, and sends nothing. It says when a replay is needed; the caller has the log and the binary with
// which the clients computed, goes on from a checkpoint if it likes, and may do it elsewhere and later. If a replay
// fails, an audited majority can still be had from [Ballot.Majority]; a match without one is void. Nothing here reads a
// clock or keeps the caller waiting, and after construction nothing allocates.
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
//   - Follow a checksum to a blame: hashes.go, check.go.
//   - See what a player's strikes do, and how a seat gets a new player: history.go.
package vote

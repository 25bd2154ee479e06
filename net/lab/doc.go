// Package lab measures what sync strategies do to players: it plays one game, by the same script of inputs, through each
// strategy on each network profile, and says how late, how wrong and how rough what is shown is, and what it costs.
//
//	report, err := lab.Run(lab.Config{
//		Game:       game,
//		Strategies: []systems.Strategy{relay.Strategy, lockstep.Strategy},
//		Profiles:   simnet.Profiles(),
//		Clock:      func() time.Duration { return time.Since(start) },
//	})
//	for _, r := range report.Results {
//		fmt.Println(r.Strategy, r.Profile, r.Display.P50, r.Absolute.RMS)
//	}
//
// Rooms and clients run as they do in production, on the message floor of the simulated network, in virtual time. The
// same Config gives the same report, but for what is said of costs in real time.
//
// It is not a benchmark (bench is), not a check (demo and matchtest are) and not a program: it writes no file, knows no
// terminal and reads no clock but the one it is given.
//
// # What is measured
//
// Everything that is said of the picture is measured in the picture: each client's [ecs.View] at 60 frames a second,
// against the states that the server computed. No definition knows a strategy. Displays are at different phases of the
// server's tick, and clocks have offsets and drift.
//
//   - input to display: from the frame that samples a changed input to the first frame in whose picture it has entered
//     the player's own state. The input of a tick is part of its state, which is how it is known again. A twin run
//     without the press finds the same frame, which a test holds it to. 0 is the frame itself.
//   - input to confirm: to the frame in which the tick that took the input is confirmed.
//   - own age: the server's time less that of the picture's own timeline. Below zero it is ahead of the server.
//   - remote age: the server's time less the moment at which the others stood all together as they are shown.
//   - lag slope: of the means of 10 s (a quarter of the run, if that is shorter) of the own age.
//   - stall: ticks due that a client could not compute, as its strategy counts them.
//   - freeze: frames in which nobody of the others moves in the picture though some of them go straight and evenly in
//     truth.
//   - corrections: replays that changed the present. The size is the most that anything was moved, before any smoothing.
//     Where others are on another timeline, only the player's own entities count.
//   - jumps: steps of an entity in the picture that are not what its velocity says, beyond what the truth does within 12
//     ticks. Those above Config.Snap are snaps. Backward are steps against every way the entity took within these ticks.
//   - remote error: how far entities of the others are shown from where they are (absolute), and from where they were at
//     the usual remote age (shape).
//   - roughness: standard deviation by mean of the shown steps of the others, each taken as a share of its true step, where
//     the truth goes straight and evenly.
//   - prediction hits: ticks shown in whose picture all inputs were those that the server took.
//   - shots: lines that the lab fires itself, at no more than ten pictures a second, when an input changes and a tick samples it:
//     at every other player in the last picture before, half a radius beside the middle, and as far beside the rim. Agreement is
//     how many of them meet the same player, or nobody, on the screen and in the tick that takes the input, in the world
//     that the server lets the game's systems see of this shooter ([ecs.World.Targets]). A player's body is the first of his
//     entities with a Bounds role; nothing else stops a line. Within the cap are shots whose view is not older than Config.Cap
//     when the server uses the input, by the remote age.
//   - hit in the past: by how much the server looked back for a hit. The lab knows no walls, so it cannot say who died behind
//     one; it is the longest that anybody can have stood behind cover, by the server's time, and be hit.
//   - late, substituted: own inputs that came after their tick, and those that the server had to make up.
//   - window: ticks that are predicted, present less confirmed.
//   - bandwidth: messages of the session and the strategy, and an estimate of what they are on the wire, with the headers of
//     all layers and acknowledgements; what is sent again is not in it.
//   - updates: the longest that an entity which had changed waited to be told of, and how many waited for more than a second,
//     as senders of states count them. A percentile is not known: they keep no spread.
//   - away: frames of clients that had been in the match and were not, since they were put right or connected again. What is
//     shown meanwhile counts.
//   - desyncs: confirmed states that differ from the server's, where they must not.
//
// Of an entity that teleports in truth (see Config.Teleport) nothing is said of where
// it is shown for some seconds: some strategies show it there sooner, some later, and none is wrong. A strategy that
// predicts or reckons others shows those who turn where they never were; their age is then that of the nearest place.
//
// Positions are those of the first component with a Motion role; of a game without one only times and costs are measured.
//
// # Tasks
//
//   - measure: [Run], [Config], [Report], [Result]
//   - let others play than the game's bots: [NewScript], [Record]
//   - watch matches while they go on, play in them, and change the network and the switches: [NewLive], [Live], [Reading]
//   - hold a report against what is to be reached: [Judge], [Gates], [Misses]
package lab

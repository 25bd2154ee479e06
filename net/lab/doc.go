// Package lab measures sync strategies: it plays one game, with the same inputs, through each strategy on each network
// profile. It reports the delay, the error and the roughness of the pictures that the clients show, and the costs.
//
// The matches run in virtual time, by package matchsim. The same Config gives the same report, except for costs in real
// time. The package writes no file, uses no terminal and reads no clock but Config.Clock.
//
// Messages are sent over net/link with its congestion control, as between a real client and a real server.
//
// # Definitions
//
// Everything about the picture is measured in the picture: each client's [ecs.View] at 60 frames per second, compared with
// the states that the server computed. No definition depends on the strategy. Frames of clients are at different phases of
// the server's tick, and their clocks have offsets and drift.
//
//   - input to display: from the frame that samples a changed input to the first frame whose picture has it in the
//     player's own state. The input of a tick is part of its state. 0 is the frame itself. A test compares it with a second
//     run without the change.
//   - input to confirm: to the frame in which the tick that used the input is confirmed.
//   - own age: the server's time minus that of the picture's own timeline. It is negative ahead of the server.
//   - remote age: the server's time minus the moment at which all remote entities were where they are shown.
//   - lag slope: growth of the own age, from its means over 10 s, or over a quarter of a shorter run.
//   - stall: ticks due that a client could not compute, as its strategy counts them.
//   - freeze: frames in which no remote entity moves in the picture though some move straight and evenly on the server.
//   - corrections: resimulations that changed the present. The size is the largest distance that an entity was moved, before
//     error smoothing. Where remote entities are on another timeline, only the player's own entities count.
//   - jumps: steps of an entity in the picture that deviate from its velocity, beyond the deviations on the server within 12
//     ticks. Those above Config.Snap are snaps. A step is backward if it is against every step on the server within these
//     ticks.
//   - remote error: how far remote entities are shown from where they are (absolute), and from where they were at the usual
//     remote age (shape).
//   - roughness: standard deviation by mean of the remote entities' shown steps, each as a share of its true step, while the
//     true motion is straight and even.
//   - prediction hits: ticks shown whose inputs are all those that the server used.
//   - shots: rays that the lab fires, in at most ten pictures per second, when an input changes and a tick samples it. They
//     go at every other player in the last picture, half a radius beside the middle, and half a radius beside the rim.
//     Agreement is the share of rays that hit the same player, or none, in the picture and on the server. The server's world
//     is that of the tick that uses the input, as its systems see it for this shooter ([image.Image.Targets]). A player's body
//     is its first entity with a Bounds role, and nothing else stops a ray. Within the cap are shots whose view is at most
//     250 ms old when the server uses the input, by the remote age.
//   - hit in the past: how far the server looked back for a hit. The lab knows no walls, so this is the longest that a player
//     can have been behind cover and be hit.
//   - late, substituted: own inputs that arrived after their tick, and those that the server substituted.
//   - window: predicted ticks, present minus confirmed.
//   - bandwidth: messages of the session and the strategy, and the packets on the wire, with the headers of all layers.
//   - updates: the longest that an entity which had changed waited for its update, and how many waited for more than a second,
//     as senders of states count them.
//   - away: frames of clients that had been live and were not, for a resync or a reconnect. The picture is measured meanwhile.
//   - desyncs: confirmed states that differ from the server's, where they must be equal.
//
// After a teleport of an entity on the server, its place in pictures is not judged for three seconds. Where turns of remote
// entities are mispredicted, pictures show them where they never were; their age is then that of the nearest place.
//
// Positions are those of the first component with a Motion role. For a game without one only times and costs are measured.
//
// # Tasks
//
//   - measure: [Run], [Config], [Report], [Result]
//   - watch matches while they go on, play in them, and change their network and settings: [NewLive], [Live], [Reading]
//   - compare a report with the bounds of the strategies: [Judge], [Gates], [Misses]
package lab

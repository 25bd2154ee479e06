// Package predict is prediction and reconciliation: a client simulates what belongs to its own player at once, from his
// inputs, and shows everything else as the server told it, a little late; the server simulates everything and has the
// last word.
//
// A client sends what its player does in each tick, again and again until the server has consumed it. The server takes
// exactly one input of each player per tick, so nobody can be faster than time; what is missing is made up, and what the
// game refuses does nothing. Some times a second it sends each client a snapshot: what differs from the state that the
// client is known to hold (systems/state).
//
// A snapshot of tick T says what became of the inputs of ticks ≤ T. The client compares it with what it had predicted for
// T, and only for T. What is within the components' Tolerance is left alone. Else it takes the server's state, computes
// the ticks from T + 1 to its present again with the inputs that the server has not consumed, and shows the difference
// fading away: the simulation is put right at once, the picture within a tenth of a second or so.
//
// What happens to things that a client does not predict it sees a way and an interpolation delay later. So it says with
// each input which moment its player looked at; the server bounds that and enters it into the tick, for systems that ask
// what a player saw (systems/lagcomp, ecs.Component.Seen).
//
// What cannot be taken back, an event that is irreversible and a component that is ConfirmedOnly, is shown when the
// server has said so. All other events are shown when they are predicted, once, however often their tick is computed,
// and cancelled if the server does not tell them.
//
// It is not a session: who may take a seat, how images travel and when a peer is gone are decided around it. It does not
// predict what others do, and needs no two machines to compute the same: what differs is corrected.
//
//	strategy := predict.New(predict.Config{SnapshotRate: 30})
//	half, err := strategy.NewServer(systems.ServerConfig{World: world, Peers: 8})
//
// # Tasks
//
//   - Choose how often, how much and how far back: [Config].
//   - See how the server takes inputs and what it makes of views: seat.go, judge.go. What it sends: peer.go.
//   - See what happens to a snapshot: [Client.Receive], reconcile.go. How the clock is kept: pace.go, systems/clock.
//   - See what is shown of whom: picture.go, present.go. Put an entity on another timeline: [Client.Switch].
//   - Tell how well it goes: [Client.Counts].
package predict

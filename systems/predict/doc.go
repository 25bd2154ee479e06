// Package predict is client-side prediction and server reconciliation.
//
// The server simulates everything and is authoritative. A client simulates its own player's entities at once, from the
// player's inputs. It also simulates shared entities ahead, which have a component with the role Predicted, such as a ball. It
// shows all other entities as they were a short time ago, interpolated between two received states.
//
// A client sends its inputs of each tick until the server has consumed them. The server uses exactly one input of each
// player per tick, so a fast clock gains nothing. It substitutes an input that is missing. At the snapshot rate it sends
// each client what differs from the state that the client is known to hold (systems/state).
//
// A snapshot of tick T contains the result of the inputs of ticks ≤ T. The client compares it with its prediction for T,
// and never for another tick. A difference within the components' Tolerance is accepted. After a misprediction the client
// restores the server's state, and resimulates the ticks from T + 1 with the inputs that the server has not consumed. The
// shown positions reach the corrected ones by error smoothing.
//
// A player sees remote entities as they were earlier. So each input carries the moment that the player saw. The server
// bounds it and enters it into the tick, for lag compensation (systems/lagcomp, ecs.Component.Seen). Irreversible events, and
// components that are ConfirmedOnly, are shown when the server has sent them. All other events are shown once, when they are
// predicted, and cancelled if the server does not send them.
//
//	strategy := predict.New(predict.Config{SnapshotRate: 30})
//	half, err := strategy.NewServer(systems.ServerConfig{World: world, Peers: 8})
//
// # Tasks
//
//   - Choose rates, interest and lag compensation: [Config].
//   - See how the server replicates and bounds views: server.go.
//   - See what a client does with a snapshot: reconcile.go. How it keeps its clock: predictor.Line.
//   - See how entities are shown: presentation.go, present.go.
//   - Put an entity on another timeline: [Client.Switch], in timeline.go.
package predict

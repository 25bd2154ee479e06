// Package interp shows entities that a client does not predict: where they were a short while ago, between two states
// that are here, or, when nothing came, where they would have gone on to.
//
// It belongs to the view. Its numbers are floats, and nothing of it goes back into a simulation. It sends nothing, reads
// no clock and knows no worlds: a strategy hands it stamps, samples and the time, and gets positions and the pair of
// ticks whose states to blend. After construction nothing allocates.
//
//	playback, err := interp.NewPlayback(interp.PlaybackConfig{TickRate: 60, Interval: 3})
//	ship, err := interp.NewRemote(interp.RemoteConfig{Track: interp.TrackConfig{TickRate: 60, MaxSpeed: 40}})
//
//	playback.Arrived(state.Tick, now)                      // a state of the server is here
//	ship.Put(interp.Sample{Tick: state.Tick, Motion: interp.MotionOf(m), Flags: interp.HasVelocity}, playback.Tick())
//	ship.Rest(state.Tick, playback.Tick())                 // or: it says that the ship is as it was
//
//	shown := ship.Show(playback.Advance(now))              // in every frame
//	view.Blend(e, states[shown.Bracket.From], states[shown.Bracket.To], shown.Bracket.Part)
//	view.Move(e, shown.Motion.Fixed())
//
// # Tasks
//
//   - Follow the delay and its jitter, and what makes playback run faster or slower: playback.go.
//   - See which two states surround a moment: track.go. Why nothing is shown between two: teleport.go.
//   - See what is drawn between two samples: hermite.go; after the last: extrapolation.go.
//   - Keep a correction from being a jump: offset.go, for predicted entities too; projective.go for vehicles.
//   - Put them together for one entity: remote.go.
//   - Simulate others with the inputs that the server gave them: ghost.go.
package interp

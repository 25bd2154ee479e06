// Package interp computes the shown motion of remote entities. It interpolates between two received states a short time ago,
// and extrapolates when states are late.
//
// It belongs to the view. Its numbers are floats, and no result returns into a simulation. It sends nothing, reads no clock
// and uses no worlds. A strategy passes stamps, samples and the time, and receives positions and the pair of ticks whose
// states to blend. After construction nothing allocates.
//
//	playback := interp.NewPlayback(interp.PlaybackConfig{TickRate: 60, Interval: 3})
//	ship := interp.NewRemote(interp.RemoteConfig{TickRate: 60, MaxSpeed: 40})
//
//	playback.Arrived(state.Tick, now)                      // a state of the server is here
//	ship.Put(interp.Sample{Tick: state.Tick, Motion: interp.MotionOf(m), Flags: interp.HasVelocity}, playback.Tick())
//	ship.Rest(state.Tick, playback.Tick())                 // or: the ship has not changed
//
//	shown := ship.Show(playback.Advance(now))              // in every frame
//	view.Blend(e, states[shown.Bracket.From], states[shown.Bracket.To], shown.Bracket.Part)
//	view.Move(e, shown.Motion.Fixed())
//
// # Tasks
//
//   - The delay and its jitter, and the speed of playback: playback.go.
//   - The two states around a moment, and teleports: track.go.
//   - The motion between two samples and after the last, and the blending of vehicles: motion.go.
//   - Error smoothing, for predicted entities too: offset.go.
//   - All of it for one entity: remote.go.
package interp

// Package lagcomp judges a shot in the world that the shooter saw.
//
// A player sees the others late: as they were when the server sent them, plus the way, plus what the client waits to
// draw between two states. So a client says with each input which moment it drew (an ecs.ViewStamp); the server bounds
// it (a [Judge]) and enters the result into the tick as an order of kind ecs.OrderView, so that recordings and journals carry
// it; and the game's systems ask for the others as the shooter saw them, of ecs.Component.Seen or of a [Sweep].
//
// Nothing is moved back and restored: older states stand in the server's ring and are only read. The shooter is never
// seen late. What a player does to others is judged so; what moves through the world, a rocket, is not: it flies in the
// present, where everybody can see it come. Damage is the game's to apply at the end of the tick, when it asks the
// [Rules] whether something that the server knows beats what the shooter saw.
//
// It is not a strategy, sends nothing, and does nothing on a client. It does not trace: a game knows
// its own shapes. Who may be seen at all, by interest management, is for the caller to filter.
//
// # Example
//
//	// the game
//	var reach = lagcomp.NewSweep(body, lagcomp.SweepConfig{Teleport: fixed.FromInt(4)}) // Game.Derived: reach.Derived()
//
//	for target, b := range reach.Near(w, shooter, ray.Min, ray.Max) {                   // b: as the shooter saw it
//		if ray.Hits(b) { … }
//	}
//
//	// the server, when tick f consumes the input
//	world.SetPast(ring.At)                                                              // once; depth: judge.Depth()
//	if v := judge.View(declared, f, rtt/2, delay); v.Tick > 0 {
//		payload = ecs.AppendViewStamp(payload[:0], v)
//		orders = append(orders, ecs.Order{Kind: ecs.OrderView, Player: p, Payload: payload})
//	}
//
// # Constants
//
// The view that is declared holds if it lies within 200 ms of the estimate, server time − one-way latency −
// interpolation delay, as in Source; else the estimate does. It lies at most 250 ms back, as in Overwatch and
// Battlefield 4: whoever has been behind cover for longer is safe, whatever the shooter's link.
//
// # Tasks
//
//   - bound on the server what a client says that it saw: [NewJudge], [Judge.View], [Judge.Depth]
//   - find whom a shot meets: [NewSweep], [Sweep.Near]; one entity: [Sweep.Judged]
//   - let a shield, a death or a dash beat a hit: [Rules.Veto]
//   - publish what it costs and whom it bounds: [Sweep.Cost], [Judge.Counters]
package lagcomp

// Package lagcomp implements lag compensation: it checks a shot against the world that the shooter saw.
//
// A player sees remote entities late: by the way of the state, and by the interpolation delay of the client. So a client
// sends the moment that it drew with each input (an image.ViewStamp). The server bounds it (a [Judge]) and enters the result
// into the tick as an order of kind image.OrderView, so that recordings and journals contain it. The game's systems read
// remote entities as the shooter saw them, with ecs.Component.Seen or a [Sweep].
//
// No entity is moved back: older states are in the server's ring and are only read. The shooter is always in the present.
// Only direct hits are compensated. A projectile such as a rocket flies in the present, where all players can see it. The
// game applies damage at the end of the tick, unless its rules let the server's state override the hit.
//
// The package sends nothing and does nothing on a client. It does not trace: see package ecs/space. The caller filters
// entities that interest management hides.
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
//	world.Image().SetPast(ring.At)                                                      // once; depth: judge.Depth()
//	if v := judge.View(declared, f, rtt/2, delay); v.Tick > 0 {
//		payload = image.AppendViewStamp(payload[:0], v)
//		orders = append(orders, image.Order{Kind: image.OrderView, Player: p, Payload: payload})
//	}
//
// # Tasks
//
//   - bound a client's view on the server: [NewJudge], [Judge.View], [Judge.Depth]
//   - find the targets of a shot: [NewSweep], [Sweep.Near]
//   - publish costs and bounded views: [Sweep.Cost], [Judge.Counters]
package lagcomp

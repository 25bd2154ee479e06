// Package reckon is dead reckoning, the position sync of Cloud Wu's development note 12.
//
// A client moves its own avatar at once and sends motion records of it. The server extrapolates each record to its own
// present and forwards it, and the other clients extrapolate it to theirs. No side waits for another, so movement feels
// the same at a round trip of 20 ms and of 2 s. Remote entities are shown where their records lead. It is not for games in
// which the exact position decides.
//
// A player's avatars are the entities in the player's region whose ecs.Seat names the player and that have a position.
// The client is authoritative for their positions, within the limits that the server checks: ecs.Physics.MoveLimit,
// BurstLimit and MoveCost, as motion.Guard applies them. Everything else is the server's. It runs the game's systems with the
// players' inputs, and enters the avatars' positions as orders of kind image.OrderMotion, so that recordings carry them. Where a
// system moves an avatar far, as a respawn does, the server corrects the client.
//
// Records carry the positions of all that moves. The rest of the state is sent a few times a second by systems/state. A
// client predicts what its avatars hold beside the position, and reconciles it with the states received.
//
// An entity on a carrier or on a path has a record relative to it (ecs.Physics.Carrier, ecs.Physics.Track). The server accepts
// such a record from a client only if its own world confirms the carrier or path. Otherwise it uses the absolute position.
//
// A stamp on the wire has 12 bits: neither side can read records before the clock exchange of systems/clock knows the
// other's clock. All positions are fixed point.
//
//	strategy := reckon.New(reckon.Config{MaxSpeed: fixed.FromInt(20)})
//	half, err := strategy.NewServer(systems.ServerConfig{World: world, Peers: 8})
//
// # Tasks
//
//   - Choose limits, rates and how remote entities are shown: [Config].
//   - Follow a record: own_avatar.go on its client, avatar.go and replicator.go on the server, remote.go on other clients.
//   - See how states are reconciled: reconcile.go. How clocks are compared and ticks numbered: clock.go.
package reckon

// Package authority is the server half of a sync strategy, as far as all strategies share it.
//
// [Server] owns the match and its final ticks, the peers, the seats with their inputs, and the orders of players. It limits
// the rate of messages and orders. It computes each tick once, finds its changes once, and passes it to the sinks. A strategy
// embeds a Server. Its own named systems accept messages, choose the inputs of a tick, and send to peers:
//
//	type Server struct {
//		authority.Server[*Server, link] // link is what the strategy adds to a peer
//	}
//
//	var serverSystems = []systems.System[*Server]{
//		{Name: "inputs", Kind: kindInput, Accept: (*Server).receiveInput},
//		{Name: "orders", Phase: systems.Reconcile, Run: (*Server).NextOrders},
//		{Name: "inputs", Phase: systems.Reconcile, Run: (*Server).ChooseInputs},
//		{Name: "snapshots", Phase: systems.Send, Run: (*Server).sendSnapshots},
//	}
//
// One tick runs the systems of phase Reconcile, the game's systems, the sinks, and the systems of phase Present. A system
// reads and changes the tick in [Server.Step].
//
// # Tasks
//
//   - describe a half: [Config], [Hooks], [Server.Init]
//   - accept a message: [Server.AllowMessage], [Server.ReceiveInputs], [Server.ReceiveOrder], [Server.RefuseOrder], [Server.Refuse]
//   - make a tick: [Server.NextOrders], [Server.ChooseInputs]
//   - use its changes: [Server.FindChanges], [Server.Replicate], [Server.FilterEvents]
//   - compare states: [Server.ClaimedChecksum], [Peer.Compare]
//   - serve states from before a restart: [Server.ReadPast]
//   - send only what a peer may know: [Peer.Sight], [Server.EachSight]
//   - send to peers: [Server.Serve], [Server.Sending], [Server.Interval]
package authority

// Package verify is verify sync (验证同步): a command takes effect only after the server has checked it.
//
// Clients simulate nothing. They show the server's states as they are, without prediction. That gives the strongest
// agreement and the slowest response: a command shows after a round trip, the wait for the server's next tick and the
// playout delay. It suits inventories, trade, building and turns, and games whose clients must not be trusted.
//
// The display is a playout delay behind the newest state, the local player's entities too, so that jitter and lost packets
// do not stop it (interp.Playback). Without jitter the delay is the one tick from state to state. ClientStats.Playout
// reports it. Events are reported when they arrive, before the display reaches their tick.
//
// A command is an order, or a change of the player's input, which holds until the next. The server checks commands in the
// order in which they arrive, each against the state before its next tick (Game.Validate, ecs.OrderRule.If). A command
// takes effect in that tick, or is rejected with a [Reason] and changes nothing.
//
//	client   Ask:   newest state held, oldest unanswered command, and the commands from there
//	server   State: answers, events, and the delta from the state that the client holds to the present one
//
// Both go in datagrams, one a tick each way, and repeat what was not answered. So a command is executed at most once, and
// an event arrives once and in order. A State that does not fit a datagram goes on the reliable channel, and so does
// everything with [Config].Reliable. There no State is added to a queue of more than a quarter of a second.
//
// A client whose state is older than [Config].History, or differs from the server's, needs an image. A restarted server
// does not know which commands the restored ticks contain. It counts all earlier numbers as decided, so that none is
// executed twice. A client reports the commands under way as unknown.
//
// # Tasks
//
//   - Choose limits, or the reliable channel: [Config].
//   - Follow a command on a client: command_queue.go. On the server: server.go, decide.go.
//   - Show the commands under way, and their results: [Client.Pending], [Client.Answers].
//   - See how a state is received: client.go. How deltas are shared: server.go.
package verify

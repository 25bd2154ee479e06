// Package verify is verify sync (验证同步): a command takes effect only after the server has checked it, and only when it
// has told everybody. Clients simulate nothing; they show the server's states, exactly as they are. That gives the
// strongest agreement and the slowest answer: what a player does shows a round trip, and the wait for the server's next
// tick, later. It is right for inventories, trade, building and turns, and it is how games are played whose players
// must not be believed.
//
// A command is an order, or a change of the player's input: what a player holds down is said once and goes on until he
// says something else. The server takes commands in the order in which they arrive, checks each against the state
// before its next tick (Game.Validate, Game.ValidateOrder), and lets it take effect in that tick or rejects it. A
// rejected command changes nothing, anywhere; only who sent it hears of it, with the [Reason].
//
//	client   Ask:   newest state held, oldest unanswered command, and the commands from there
//	server   State: answers, events, and the delta from the state that the client holds to the present one
//
// Both ride in datagrams, one a tick each way, and repeat what was not answered; so a command is carried out at most
// once however often it comes, and an event is heard once and in order. A State that does not fit a datagram goes on
// the reliable channel, and so does everything where [Config].Reliable is set. The layouts are in message.go and in the
// wire standard.
//
// The server keeps the states of the last [Config].History ticks, since a delta can only be taken from a state that is
// at hand. Whoever fell behind them, and whoever finds that a delta does not lead to the checksum it names, is sent an
// image.
//
// A server that is started again does not know which commands are in the ticks that it goes on from. It counts all
// numbers of before as decided, so none is carried out twice, and a client reports those under way as not known.
//
// It is not a session, and it hides no latency: there is no prediction, no interpolation delay and nothing to smooth. A
// client's display may show that a command is under way; [Client.Pending] says which are.
//
//	strategy := verify.New(verify.Config{OrdersPerSecond: 4})
//	half, err := strategy.NewServer(systems.ServerConfig{World: world, Peers: 8})
//
// # Tasks
//
//   - Choose limits, or the reliable channel: [Config].
//   - Follow a command on the server: seat.go. On the client: asks.go.
//   - Show what is under way, and what came of it: [Client.Pending], [Client.Answers].
//   - See what a peer is sent and when: peer.go, deltas.go.
//   - See how a state is taken over: [Client.Receive], rollback.Effects.
package verify

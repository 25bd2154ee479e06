// Package systems defines sync strategies: sets of systems that keep the copies of one match in agreement, one half on the
// server and one on each client.
//
// A tick runs these phases in order. The game's own systems fill Simulate. A strategy fills the others:
//
//	server: Receive → Reconcile → Simulate → Present → Send
//	client: Receive → Reconcile → Simulate → Send, and Present when a view is drawn
//
// Each half is a list of named systems ([System]), which a [Schedule] runs around the game's. A strategy decides when to
// step, which inputs to use, what to send and what to show. It contains no rule of a game.
//
// Both halves are sans-IO: messages and the time are arguments, and messages are sent through an [Outbox]. So the same code
// runs over UDP, in the simulated network and in tests. Messages are hostile until they are parsed. A half returns an error
// for a message that it cannot use, and is otherwise unchanged.
//
// [Server] and [Client] are the interfaces of the halves. Packages authority and predictor contain the common parts. Callers
// find optional capabilities by type assertion: [Historian], [Monitor], [Waiter], [Voter] and [Redactor] of servers, [Keeper], [Replicated],
// [Presenter] and [ecs.Past] of clients.
//
// A strategy is a value of [Strategy]. To offer it as --sync and in the lab page, add it to the list in
// cmd/cli/internal/syncflags/flags.go. Section 5 of net/wire/STANDARD.md specifies its messages.
//
// # Events
//
// An irreversible event is shown only when the inputs and orders of its tick are final, in the order of ticks. The server
// decides that an event is final, under every strategy. Verify sends all events only when they are final. An event of
// ecs.NewOwnEvent is predicted on the client of the player who owns its entity, and shown to all others when it is final.
//
// The strategies that predict cancel an event that a correction removes, and report one that it adds. An event that a correction
// moves by at most 8 ticks is neither cancelled nor reported again: see rollback.Effects.
//
// # Hidden information
//
// In a game with private data, a strategy with [Strategy.Hides] sends each client states that are redacted for its seat. All messages
// to a client follow from these: see authority.Sight. Private events reach their receivers alone. Clients have no hash chain of
// the ticks, and load an image whenever they connect. Other strategies refuse such a game.
//
// # Requirements of a game
//
// A strategy refuses a game in which no component has a role that it needs, and names the role ([Strategy.Check]). The
// package example lists what each strategy needs.
package systems

// Package systems says what a sync strategy is: the systems that surround a game's own in every tick, one half on the
// server and one on each client.
//
// A tick is a fixed row of phases:
//
//	Receive → Reconcile → Simulate → Send → Present
//
// The game's systems fill Simulate. A strategy fills the others; it owns when to step, which inputs to use, what to
// send and what to show, and never a rule of the game. Swapping the strategy swaps its two halves and nothing else.
//
// Both halves are sans-IO: messages and the time come in as arguments, messages go out through an Outbox. A half
// never reads a clock, starts a goroutine or touches a socket, so the same code runs over UDP, in the simulated
// network and in tests. A strategy's messages are its own: the session carries them as opaque bytes on the channel
// that the strategy names. They are hostile until they are parsed; a half answers a message it cannot use with an
// error and is otherwise unchanged.
//
// Events that cannot be taken back go the same way in every strategy: a view hears of an event that is marked
// irreversible only when what entered its tick is final, which is the server's word, in the order of ticks. Verify sync
// sends everything that way.
//
// A strategy refuses a game in which no component has a role that it needs, and names the role (Strategy.Check):
//
//	          roles of ecs.Roles            same result everywhere
//	relay     none                          yes
//	lockstep  none                          yes
//	predict   Lerp, or Motion + SetMotion   no
//	reckon    Motion + SetMotion            no
//	verify    none                          no
//
// The package holds the interfaces and the vocabulary of peers and roles. The strategies are in packages below it; systems/clock estimates clocks and controls a client's lead.
package systems

// Package cli gives any game a command line: cli.Main(game) is a whole program.
//
//	verb       what it does
//	demo       plays a match of bots on a bad network and checks for desyncs
//	serve      runs a server
//	join       joins a server: in a window, as a bot, or without either
//	watch      watches a match that a server broadcasts, and verifies every tick
//	play       serves, adds bots, and plays in a window
//	dev        plays, and continues the match with a new build when a file is saved
//	bots       loads a server with rooms of bots
//	lab        compares sync strategies on simulated networks
//	web        compiles the game for browsers, and serves it
//	backend    queues players, matches them, and gives them connect tokens
//	token      mints a connect token
//	drain      moves the rooms of a server to the other servers of its cluster
//	players    lists players and banned clients of a running server, with evidence
//	kick       removes a player from a running server
//	ban        bans a player from a running server for a time, or ends a ban
//	switch     changes the sync strategy of a room of a running server
//	pause      pauses the match of a room of a running server
//	resume     lets a paused match continue
//	synctest   checks that the game is deterministic and survives every rewind
//	profile    measures the costs of phases and systems, and compares two measurements
//	matches    lists decided matches
//	replay     plays a recording again and checks it tick by tick
//
//	func main() {
//		cli.Main(ecs.Game{Name: "dots", TickRate: 60, MaxPlayers: 8, …})
//	}
//
// # Where a verb is
//
// Each verb is a package under verbs, with a type Verb: its fields are the flags, Help returns the help text and Run runs
// it. To add a verb, write such a package and list it in verbs of main.go. Packages under internal are shared by verbs:
// internal/app has output, tables and exit codes, internal/host runs a server, internal/player runs a client.
//
// # Conventions
//
// Exit codes: 0 fine, 1 the check failed (a desync, a difference), 2 wrong use or environment. Every verb takes --json,
// --profile and --help. Results are printed to the standard output, settings and progress to the standard error.
package cli

// Package cli gives any game a command line: cli.Main(game) is a whole program.
//
//	verb       what it does
//	demo       plays bots against each other over a bad network and checks that nobody desyncs
//	serve      runs a server
//	join       joins a server: in a window, as a bot, or without either
//	play       serves, adds bots, and plays in a window
//	bots       loads a server with rooms of bots
//	lab        measures sync strategies against each other on simulated networks
//	token      mints a connect token
//	synctest   checks that the game is deterministic and survives every rewind
//	profile    measures what phases and systems of a tick cost, and compares two measurements
//	matches    lists decided matches
//	replay     plays a recording again and checks it tick by tick
//
//	func main() {
//		cli.Main(ecs.Game{Name: "dots", TickRate: 60, MaxPlayers: 8, …})
//	}
//
// Exit codes: 0 fine, 1 the check failed (a desync, a difference), 2 wrong use or environment. Every verb takes --json,
// --profile and --help; what it chose goes to the standard error, results to the standard output.
//
// It is the outermost layer: clocks, files, terminals and signals live here and in the loops of net/server and
// net/client, and nowhere below.
package cli

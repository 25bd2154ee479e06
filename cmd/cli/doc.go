// Package cli gives any game a command line: cli.Main(game) is a whole program with the verbs demo, serve, join, play,
// token, synctest, matches and replay.
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

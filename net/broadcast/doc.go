// Package broadcast publishes a running match as files, so that any number of viewers can watch it. Any web server
// or HTTP cache can serve the files. Viewers cause no load on the game server.
//
// A [Writer] follows the final ticks of a room. It cuts them into fragments of three seconds and writes each as two files that
// never change:
//
//	index.json           the newest fragments; replaced every three seconds
//	RUN/TICK.full        the state of tick TICK
//	RUN/TICK.ticks       the ticks after it: inputs, orders and the checksum of every state
//
// A fragment becomes visible Config.Delay ticks after its last tick. Each writing process has a RUN of its own, so the content of a
// name never changes.
//
// A [Viewer] loads the state of the second-last fragment, and from then on only ticks. It simulates the match and compares the
// checksum of every tick. A [Schedule] selects its requests: one every three seconds, and one for the index if a fragment is late.
//
// # Tasks
//
//   - write the match of a room: NewWriter, Writer.Tick, Writer.Close
//   - store the files in a directory: Dir
//   - serve them: Handler; any other web server serves them too, see STANDARD.md
//   - watch: NewViewer with an HTTP or a Files, Viewer.Run on a goroutine, Viewer.Show for each picture
//   - verify without a picture: Viewer.Step
//   - write another viewer: Schedule, ParseIndex
//
// The format is in STANDARD.md.
package broadcast

// Package replaypage shows a match in a browser, tick by tick: picture, inputs, orders, events, costs, and every entity with
// every field. It plots a field over time. Two matches are shown side by side and stop at the first tick in which they
// differ.
//
//	s, err := page.New(page.Config{})
//	if err != nil {
//		return err
//	}
//	replaypage.Register(s, "/", func(context.Context, string) ([]replaypage.Match, error) {
//		return []replaypage.Match{{Name: "match.tendonrec", Record: recording}}, nil
//	})
//
// The timeline has marks for joins, leaves, events, orders, desyncs and changes of the strategy. The page shows the whole state, or
// only the data that one player or a spectator may know. The address contains the tick, the entity, the plot and the viewer, so a
// link opens the same view.
//
// The page also runs from a static server: replay --export and demo --export write it, with the game compiled for browsers. The page
// of the arena has 2.0 MB, compressed, without the recording.
//
// It is a view of package record/cursor, which simulates the match, on package page, which controls access. A page cannot
// change a match.
//
// # Tasks
//
//   - show a recording, two, a bundle: Register, with Matches for files and Bundle for a bundle
//   - show the rooms of a server: Register; Open receives the name in the page's address, ?of=NAME
package replaypage

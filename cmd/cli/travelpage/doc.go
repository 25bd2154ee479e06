// Package travelpage shows a match in a browser, tick by tick: its picture, what players did, every entity with every
// field, what happened and what it cost, and a field over time. Two matches stand side by side and stop in the first tick
// in which they differ.
//
//	s, err := page.New(page.Config{})
//	if err != nil {
//		return err
//	}
//	err = travelpage.Register(s, "/", travelpage.Config{
//		Game: game,
//		Open: func(context.Context, string) ([]travelpage.Match, error) {
//			return []travelpage.Match{{Name: "match.tendonrec", Source: recording}}, nil
//		},
//	})
//
// It is the view of package travel, which does the travelling, on package page, which says who may look. Nothing that a
// page says changes a match.
//
//	to                                    use
//	show a recording, two, a bundle       Register, Config.Open
//	show what a server keeps              Register; Config.Open is asked by the name in the page's address, ?of=NAME
package travelpage

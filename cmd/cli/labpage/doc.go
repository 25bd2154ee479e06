// Package labpage is the lab in a browser: one match through two to five sync strategies side by side, on a network that
// whoever watches makes better or worse, with the server's truth as ghosts, one player in their hands, and a desync on a
// button. It serves what net/lab runs; the page's own files are in web.
//
//	s, err := page.New(page.Config{Addr: "127.0.0.1:0", Streams: labpage.Streams})
//	if err != nil {
//		return err
//	}
//	if err := labpage.Register(s, labpage.Config{Game: game, Begin: labpage.Usual(7)}); err != nil {
//		return err
//	}
//	return s.Serve(ctx)
//
// It is not where strategies are measured for a table: lab without --page is, with a script instead of bots, for longer,
// and with every client's picture.
//
// Each page that is open has matches of its own, which end with it. What the page says is bounded and clamped, and what is
// not understood is passed over; pictures are dropped rather than queued where the page is slow.
//
//	to …                                  see
//	serve the page                        [Register], [Config]
//	know what can be set and linked to    [Settings]
package labpage

// Package page serves the browser pages of every verb from the one binary: the lab, the replay, the live server. It is
// the guard, the shared look and the painter; what a page shows is its owner's.
//
// It is no web framework: plain ES modules, no build step, no templates, nothing from outside the binary.
//
//	s, err := page.New(page.Config{Addr: "127.0.0.1:0"})
//	if err != nil {
//		return err
//	}
//	s.Page("/", files)                                   // index.html and what it needs, an fs.FS
//	s.Handle("/live", page.Stream(func(ctx context.Context, c *page.Conn) error {
//		for {
//			select {
//			case <-ctx.Done():
//				return nil
//			case m, ok := <-c.Messages():                // what the page said
//				if !ok {
//					return nil
//				}
//				steer(m)
//			case <-pictures:
//				c.Offer(picture.Append(buffer[:0]))      // never waits: a page that is behind misses one
//			}
//		}
//	}))
//	s.Handle("POST /stop", stop)                         // what changes something is never a GET
//	fmt.Println(s.Link("/"))
//	return s.Serve(ctx)
//
//	to …                                  use
//	serve a page and its files            Server.Page
//	answer a GET or a POST                Server.Handle; to anybody, without a token: Server.HandlePublic
//	talk with a page                      Stream, Conn
//	paint a game's Draw in a browser      Picture, and painter.js in the page
//	look like the others                  /assets/page.css, /assets/theme.js
//	plot                                  /assets/uplot/
//	test in a browser                     package pagetest
//
// # Who may read and steer
//
// Whoever can open a connection to the address, and no page of another site. A server listens on loopback unless it is
// told otherwise; any other address demands a token. Every request is checked before its handler sees it: its Host is
// the address that it came to, which ends DNS rebinding; its Origin, where there is one, is that Host, and must be there
// if the request opens a stream or is no GET; Sec-Fetch-Site, where there is one, is same-origin, but for a person who
// follows a link to a page. Answers forbid frames, foreign scripts and guessing of types. See Config and guard.
//
// On an address other than loopback the token and all else travel as the address does: put a proxy with TLS before it,
// or use a tunnel. A cookie is shared by all ports of a host, so another server on the same host name sees the cookie
// that stands for the token.
package page

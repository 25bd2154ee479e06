// Package labpage is the lab in a browser. One match runs with two or more sync strategies side by side, on a network that
// the viewer changes. The viewer plays one of the players, sees the server's state as ghosts, and can cause a desync. The
// matches are those of net/lab; the page's own files are in web.
//
// All pictures share one camera, so they show the same place. [Film] draws the pictures without a browser, as an animation.
//
// Each open page has its own matches, which end with it. Messages from the page are bounded, and malformed ones are
// ignored. If the page is slow, pictures are dropped rather than queued.
//
// # Tasks
//
//   - serve the page: [Register], [Config]
//   - know the settings and the link: [Settings]
//   - draw the matches as an animation: [Film]
package labpage

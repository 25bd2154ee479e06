// Package playpage provides the page on which a browser plays. The page runs the program, compiled for browsers. It has a progress
// bar for the time of loading, a message for a browser that lacks a feature, and buttons for touch screens.
//
// The link of an invitation is the address of the page with #join= and an Invitation. Browsers do not send the part after #, and
// the page removes it from its address at once.
//
// With #watch=ADDRESS the page shows the broadcast at that address: see package tendon/net/broadcast. The address may be relative to
// the page.
//
// With #backend=URL&queue=NAME the page queues for a match at a backend, and shows how many players wait. &key= adds a JWT of the
// player or a key, &player= an id for a backend that does not know it by a JWT, and &name= a name. See package
// tendon/cmd/cli/backend, whose setting Origins must have the origin of the page.
//
// # Tasks
//
//   - make the files of the page: [Files]
//   - make the link of an invitation: [Invitation.Text]
package playpage

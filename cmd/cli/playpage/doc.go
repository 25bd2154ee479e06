// Package playpage has the page on which a browser plays: the program, compiled for browsers, with a progress bar while it loads, a
// sentence where the browser lacks something, and buttons for fingers.
//
// The link of an invitation is the address of the page with #join= and an Invitation. Browsers do not send the part after #, and
// the page removes it from its address at once.
//
// # Tasks
//
//   - make the files of the page: [Files]
//   - make the link of an invitation: [Invitation.Text]
package playpage

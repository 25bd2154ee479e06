// Package page serves the browser pages of the command line: the lab, the replay, the live server. It provides access
// control, the shared style and the painter. The contents of a page belong to its own package.
//
// Pages are plain ES modules, without a build step, templates or resources from outside the binary.
//
// # Tasks
//
//   - serve a page and its files: Server.Page
//   - answer a GET or a POST: Server.Handle; without a token: Server.HandlePublic
//   - exchange messages with a page: Server.Stream, Conn
//   - show a game's Draw in a browser: Picture, and painter.js in the page
//   - use the shared style: /assets/page.css, /assets/theme.js
//   - plot: /assets/uplot/
//   - test in a browser: package pagetest
//
// # Access
//
// Every process that can connect to the address has access. Pages of other sites have none. The default address is
// loopback; any other address requires a token. Every request is checked before its handler runs:
//
//   - Host is the address of the connection. This prevents DNS rebinding.
//   - Origin, if present, is that Host. A stream and a request other than GET must have one.
//   - Sec-Fetch-Site, if present, is same-origin, except for a link to a page.
//
// Responses forbid frames, foreign scripts and guessing of content types. The server does not encrypt. For an address other than loopback, use a proxy with TLS or a tunnel. All ports of a host
// share cookies, so another server on the same host name receives the cookie that stands for the token.
package page

// Package lan finds the servers of a local network by UDP broadcast, and gives clients their connect tokens. Such a server is open
// to every client on the network.
//
// A client asks the network with [Find] and chooses one of the answers. [Join] then returns a connect token and three code words.
// A server answers with a [Server]:
//
//	s, err := lan.NewServer(lan.ServerConfig{Describe: describe, Mint: mint})
//	go s.Serve(socket) // a UDP socket on Port
//
// The token is sealed with a key that only the two sides can compute, so a third host cannot read it. A host between
// the two sides that replaces the keys can. Their [Words] then differ, so people compare them, for example by voice. STANDARD.md has
// the messages and the reasons.
//
// The exchange protects the token of one client from the other hosts. It does not identify clients.
//
// A [Server] answers only requests from private, link-local and loopback addresses. An answer is never longer than its request, and
// the memory of a server does not grow.
package lan

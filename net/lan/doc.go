// Package lan lets servers and clients of one local network find each other by UDP broadcast, and gives a client the connect token
// of a server that is open to everybody on that network.
//
// A client asks the network with [Find] and chooses one of the answers. [Join] then returns a connect token and three code words.
// A server answers with a [Server]:
//
//	s, err := lan.NewServer(lan.ServerConfig{Describe: describe, Mint: mint})
//	go s.Serve(socket) // a UDP socket on Port
//
// The token is sealed with a key that only the two sides can compute, so a third host cannot read it. A host that passes messages
// on between them and replaces keys can. It makes their [Words] differ: people compare them, for example by voice. STANDARD.md has the
// messages and the reasons.
//
// Everybody on the network can join such a server: the exchange protects the token of one client from the others, and proves nothing
// about who the client is.
//
// A [Server] answers only requests from private, link-local and loopback addresses. An answer is never longer than its request, and
// the memory of a server does not grow.
package lan

// Package netcode makes sealed connections over datagrams: the netcode 1.02 protocol, client and server.
//
// The protocol is the public standard "netcode 1.02" (STANDARD.md of https://github.com/mas-bandwidth/netcode). On the
// wire nothing departs from it, and the vectors in testdata come from its authors' implementation. In short: a backend
// that has authenticated a client makes a connect token, sealed with a private key that it shares with the servers. The
// client shows the token, the server answers with a challenge, the client carries it back, which proves its address, and
// has a slot. Every later packet is sealed with a key of its direction, and replays are refused.
//
// The package is not a socket, not a loop, not a clock and not a log: datagrams and the time go in, datagrams and events
// come out, and what happened is counted. It is not reliable either: payloads are lost, repeated by nobody and reordered
// as the network likes; net/link builds channels on it. It does not authenticate people: whoever makes the tokens does.
//
// # A server
//
//	var out netcode.Outbox
//	for each datagram from the socket {
//		switch e := server.Receive(&out, datagram, from, now); e.Kind {
//		case netcode.Connected:    // e.Slot is who it is from now on; server.UserData(e.Slot) says what the token said
//		case netcode.Payload:      // e.Payload aliases datagram
//		case netcode.Disconnected: // e.Reason
//		}
//	}
//	events = server.Update(&out, now, events[:0])
//	for i := range out.Len() { to, packet := out.At(i); write it to the socket }
//	out.Reset()
//
// # Tasks
//
//   - let a client in: [GenerateToken] at the backend, [Client.Connect] at the client
//   - run a server: [NewServer], [Server.Receive], [Server.Update], [Server.Send]
//   - run a client: [Client.Receive], [Client.Update], [Client.Send], [Client.State]
//   - put a client out: [Server.Disconnect]; its token is spent, so it needs a new one
//   - let a returning client take its old slot at once: [ServerConfig].Admit with [Replace]
//   - change the private key: [ServerConfig].Keys, the new one first, the old one until its tokens have expired
//   - see what is refused and why: [Server.Counters]
//
// # What is stored before a client has proven its address
//
// The standard seals the response with a key that the server knows from the request alone, so something must be kept in
// between. It is kept in a table of fixed size ([ServerConfig].Pending), one entry for each address, the longest
// standing giving way, and only for a request whose token the backend has sealed for this server, which has had no
// connection and was presented from no other address. The user data is not in it; it travels in the challenge. The tokens
// seen are kept in a second table of fixed size ([ServerConfig].History). Nothing else is kept, no slot is taken and
// nothing is told to the caller.
//
// # Stricter than the standard, invisibly to honest peers
//
//   - A token has one connection. The standard lets the same address connect again with it; but then both keys would seal
//     a second packet with each sequence number. The standard's own suggestion, to remember tokens, is used for it.
//   - A challenge is good for the token and address it was made for, not only for its client id. A repeated request is
//     answered with the same challenge token.
//   - The sequence numbers of challenges and denials start at random in the upper half of their space, so that two
//     servers named in one token, or two lives of one server, do not seal with the same number.
//   - Datagrams longer than any packet are dropped unopened.
//
// A client that is told to disconnect while connected stays disconnected, as the text of the standard says.
//
// # Accepted limits
//
//   - No forward secrecy: the connection's keys are in the token, so who holds the private key, or reads the token on its
//     way to the client, can read a recorded connection. Change the private key regularly.
//   - A server that has just started knows no used tokens. Its tokens of a former life are refused only by their expiry:
//     keep lifetimes short (DefaultLifetime is 45 s).
//   - A used token is forgotten early if more tokens than ServerConfig.History are presented within its lifetime. Only its
//     own client, who alone has the keys, could use it again. HistoryForgotten counts such cases.
//   - Who sees a request on its way can present it first from another address, and so spoil that token, and who holds a
//     token of his own can present it with a forged source address and so displace an open challenge of that address.
//     Neither can connect by it, nor touch a connection.
//   - Sizes and times of packets are visible; the number of bytes is not hidden.
package netcode

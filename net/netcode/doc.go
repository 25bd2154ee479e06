// Package netcode implements encrypted connections over datagrams: the netcode 1.02 protocol, client and server.
//
// The protocol is the public standard "netcode 1.02" (STANDARD.md of https://github.com/mas-bandwidth/netcode). The
// wire format follows it exactly, and the vectors in testdata come from its authors' implementation. A connection is
// made in four steps:
//
//   - A backend authenticates a client and makes a connect token, sealed with a private key that it shares with the servers.
//   - The client sends the token in a request, and the server answers with a challenge.
//   - The client returns the challenge, which proves its address, and receives a slot.
//   - Every later packet is sealed with a key of its direction, and replays are refused.
//
// The package contains no socket, loop, clock or log. Datagrams and the time are arguments; datagrams, events and
// counters are results. Payloads may be lost and reordered and are not retransmitted; net/link builds channels on them.
// The backend that makes the tokens authenticates people.
//
// # A server
//
//	var out netcode.Outbox
//	for each datagram from the socket {
//		switch e := server.Receive(&out, datagram, from, now); e.Kind {
//		case netcode.Connected:    // e.Slot identifies the client from now on; server.UserData(e.Slot) is the token's user data
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
// The standard seals the response with a key that the server has from the request alone, so the server keeps that key.
// It has a table of fixed size ([ServerConfig].Pending) with one entry for each address; a new entry replaces the
// oldest. An entry needs a token that the backend sealed for this server, without an earlier connection and from no
// other address. The user data is in the challenge, not in the table. The tokens seen are kept in a second table of
// fixed size ([ServerConfig].History). The server keeps nothing else, and no slot or event depends on it.
//
// # Stricter than the standard, invisibly to honest peers
//
//   - A token has one connection. The standard allows the same address to connect again with it. But then both keys would
//     seal a second packet with each sequence number. The server remembers tokens, as the standard suggests.
//   - A challenge is good for the token and address it was made for, not only for its client id. A repeated request is
//     answered with the same challenge token.
//   - The sequence numbers of challenges and denials start at random in the upper half of their space, so that two
//     servers named in one token, or two lives of one server, do not seal with the same number.
//   - Datagrams longer than any packet are dropped unopened.
//
// A client that receives a disconnect packet while connected stays disconnected, as the text of the standard requires.
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

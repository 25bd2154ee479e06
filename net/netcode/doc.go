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
// # Tasks
//
//   - connect: [GenerateToken] on the backend, [Client.Connect] on the client
//   - run a server: [NewServer], [Server.Receive], [Server.Update], [Server.Send]
//   - run a client: [Client.Receive], [Client.Update], [Client.Send], [Client.State]
//   - disconnect a client: [Server.Disconnect]; it needs a new token to connect again
//   - give a returning client its old slot at once: [ServerConfig].Admit with [Accept]
//   - change the private key: [ServerConfig].Keys, the new one first, the old one until its tokens have expired
//   - count refused datagrams by reason: [Server.Counters]
//
// # State before the challenge is answered
//
// The response is sealed with a key from the request, so the server keeps that key. The table of pending challenges has a
// fixed size and one entry per address; a new entry replaces the oldest. An entry requires a token that the backend sealed
// for this server, and that was not used by another address or connection. A second table of fixed size keeps the presented
// tokens. The server keeps nothing else, and no slot or event depends on these tables.
//
// # Differences from the standard
//
// The server is stricter than the standard in ways that no valid peer observes:
//
//   - A token is valid for one connection. With a second one, both keys would seal two packets with each sequence number.
//   - A challenge token is valid for one connect token and address, not only for its client id. A repeated request is
//     answered with the same challenge token.
//   - The sequence numbers of challenges and denials start at random in the upper half of their space, so that two servers
//     of one token, or a restarted server, do not seal with the same number.
//   - Datagrams longer than any packet are dropped without decryption.
//
// # Accepted limits
//
//   - There is no forward secrecy: the keys of a connection are in its token. Change the private key regularly.
//   - A restarted server does not know the used tokens, so keep lifetimes short (DefaultLifetime is 45 s).
//   - A used token is dropped early if very many tokens are presented within its lifetime. Only its own client has the keys
//     to use it again. HistoryForgotten counts these cases.
//   - An observer of a request can present it first from another address, and so make the token unusable. A client can
//     present its own token with a forged source address, and so replace the pending challenge of that address. Neither
//     gets a connection by it, or affects one.
package netcode

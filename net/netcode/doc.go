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
// for this server, and that had no connection. A token has one entry, which it takes along if it is presented from another
// address. A second table of fixed size keeps the presented tokens. The server keeps nothing else, and no slot or event
// depends on these tables.
//
// # Differences from the standard
//
// The server is stricter than the standard in ways that no valid peer observes:
//
//   - A token is valid for one connection, and until then from any address: a client that does not receive the response may
//     present it again from another one. A used token is kept until it expires. If there is no place for another one, of
//     all clients or of one, further tokens are refused until one has expired.
//   - A challenge token is valid for one connect token and address, not only for its client id. A repeated request is
//     answered with the same challenge token.
//   - Datagrams longer than any packet are dropped without decryption.
//
// One difference is visible: a denial has a body of one byte if Admit sets [Arrival].Reason. [Client.Reason] returns it. A client
// of the standard drops such a denial, and therefore times out.
//
// # Changes of the address
//
// A packet from an unknown address is assigned to a connection by the upper bits of its sequence number, and opened with
// the key of that connection. At most 6400 such packets a second are opened. One that is genuine and the newest of its
// connection moves the connection to the new address. So a copy of an old packet moves nothing. If a copy of a packet arrives
// first, the client's next packet moves the connection back.
//
// At the new address the server sends at most three times what it receives from there, as in QUIC (RFC 9000, section 9). The
// limit ends when the client has proven that it receives packets: the body of a keep-alive is then a random number, which a
// [Client] returns. A client of the standard ignores that number, and so remains limited. A connection moves to such addresses
// eight times at once, and four times a second for long. An address belongs to one connection: a client that gets the address
// of another one is not found before that one has moved, too.
//
// # No sequence number is used twice with a key
//
// A sequence number is the nonce of a packet. The wire leaves its first value to each side:
//
//   - Packets of a connection on the server start at 2^58 times the index of this server among the servers of the token. A
//     token has one connection with each server, so its keys are used once in each of these ranges.
//   - Challenges and denials start in the upper half, at a random number of 62 bits in each process.
//   - Packets of a client start in the lower half, at a random number of 40 bits for each key in each [Client], and continue
//     if the Client uses the key again. So two processes with one token do not seal with the same number. 40 bits take 5
//     bytes of a packet, where 62 would take 8.
//   - A server process has only the used tokens of its own lifetime. [ServerConfig].Admit receives the identity of each token,
//     and must refuse those that an earlier process may have accepted; net/server does.
//
// Only one of two processes with a token gets a connection; the other sends less than 2^8 responses. Their ranges overlap with
// a probability below 2^-15 even if the connection lasts for 2^24 packets, which is three days at 60 a second.
//
// # Accepted limits
//
//   - There is no forward secrecy: the keys of a connection are in its token. Change the private key regularly.
//   - An observer of a request can repeat it from another address, and so delay the connection for as long as it does. A
//     client can present its own token with a forged source address, and so replace the pending challenge of that address.
//     Neither gets a connection by it, or affects one.
package netcode

// Package web carries the packets of net/netcode for browsers, which cannot open UDP sockets.
//
// A Listener accepts WebTransport sessions, whose datagrams are packets. As a fallback it accepts WebSockets, whose binary
// messages are packets. It implements the socket of net/server: each session has an address of its own in Prefix, by which the
// server receives from it and sends to it. Tokens, encryption, channels and rooms are those of clients with a UDP socket.
//
//	certificates, err := web.SelfSigned("certificates")
//	listener, err := web.Listen(web.Config{Address: ":7778", Certificates: certificates})
//	s, err := server.New(server.Config{Address: ":7777", Web: listener, …})
//
// Dial connects a program that is not a browser in the same ways, for tests and bots. In a browser it uses the functions of the browser.
//
// # Certificates
//
// LoadCertificates reads a certificate of an authority. SelfSigned makes its own, which browsers accept for WebTransport by
// their hashes, without a domain or an authority. Such a certificate is valid for 13 days, because browsers refuse longer ones. The
// next one is made twelve days before it is used, and Certificates.Hashes returns both hashes. So an invitation with both is
// valid for at least twelve days.
//
// Browsers need a trusted certificate for WebSocket, except on a loopback address: there a Listener with self-signed certificates
// serves pages and WebSockets without TLS.
//
// # Limits
//
// A client proves its token with its first packets, and is not authenticated before. A session to which the server sends nothing
// for 5 s is closed. The number of sessions without an answer of the server is limited, for each network and in all. QUIC
// verifies the addresses of new connections while many arrive. Requests have small headers and short timeouts. Each session sends
// at most packetsPerSecond. Packets of a session wait in a queue of bounded size; those that wait longer than lateAfter are dropped
// instead of sent. So a session whose line is congested loses packets, as UDP does, instead of delaying all that follow. QUIC receives
// a packet when it has sent the one before, because it would queue 32 of them.
//
// Pages of other origins are refused unless Config.Origins lists them.
//
// # Packets
//
// A packet has at most MaxPacket bytes. Browsers send datagrams of at least that size on every path that QUIC supports. Both ends
// of a connection agree on it in the handshake of net/session.
//
// STANDARD.md has the format of invitations, the limits, the threats with their tests, and the costs of both transports.
//
// Sources: RFC 9221 (datagrams), RFC 9297 (HTTP datagrams), draft-ietf-webtrans-http3, RFC 6455 (WebSocket).
package web

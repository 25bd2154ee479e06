package web

import "crypto/sha256"

// Hash is the SHA-256 hash of a certificate in DER.
type Hash [sha256.Size]byte

// Target is the server of a session.
type Target struct {
	URL    string // with the path Path, and the scheme https for WebTransport or wss or ws for WebSocket. Required
	Hashes []Hash // of the certificates that are accepted. Empty: those of an authority that this host trusts
}

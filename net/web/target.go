package web

import (
	"crypto/sha256"
	_ "embed"
	"errors"
)

// Script is the JavaScript that a page runs before its program calls Dial.
//
//go:embed session.js
var Script []byte

// Path is the path of sessions, for WebTransport and WebSocket alike.
const Path = "/tendon"

// ErrDial is wrapped by every error of Dial.
var ErrDial = errors.New("web: connecting")

// Hash is the SHA-256 hash of a certificate in DER.
type Hash [sha256.Size]byte

// Target is the server of a session.
type Target struct {
	URL    string // with the path Path, and the scheme https for WebTransport or wss or ws for WebSocket. Required
	Hashes []Hash // of the certificates that are accepted. Empty: those of an authority that this host trusts
}

// MaxPacket returns the size of the largest packet. Both ends of a connection keep to it.
func (s *Socket) MaxPacket() int { return MaxPacket }

// Dialer opens sessions to a server in several ways: the first target that can be opened is used.
type Dialer struct {
	Targets []Target // the preferred one first. Required
	next    int
	last    *Socket
}

// Dial begins to open a session, with the next target if the last session could not be opened. A client calls it for each attempt.
func (d *Dialer) Dial() (*Socket, error) {
	if d.last != nil && !d.last.opens() {
		d.next = (d.next + 1) % len(d.Targets)
	}
	s, err := Dial(d.Targets[d.next])
	d.last = s
	return s, err
}

package web

import (
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"slices"
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

// Dialer opens sessions to servers. If the session to a target of a server cannot be opened, the next call uses its next target. The zero
// value has no targets. It is not safe for concurrent use.
type Dialer struct {
	Targets []Target // of all servers, while no endpoints were added; the preferred one first. Optional

	endpoints []Endpoint        // the newest first
	sessions  map[string]opened // the last session of each server, by the URL of its first target
	last      opened            // of all sessions
	worked    int               // the position of the target that was open last, with which Dial begins for another server
}

// opened is a session to the target at a position.
type opened struct {
	position int
	socket   *Socket
}

// AddEndpoints adds a list of endpoints, encoded by AppendEndpoints. The newest endpoint of an address is used, and the newest MaxEndpoints
// are kept. The error wraps ErrEndpoints.
func (d *Dialer) AddEndpoints(b []byte) error {
	list, err := ParseEndpoints(b)
	if err != nil {
		return err
	}
	for _, old := range d.endpoints {
		if !slices.ContainsFunc(list, func(e Endpoint) bool { return e.Address == old.Address }) {
			list = append(list, old)
		}
	}
	d.endpoints = list[:min(len(list), MaxEndpoints)]
	return nil
}

// Endpoints returns the endpoints that AddEndpoints has added, the newest first.
func (d *Dialer) Endpoints() []Endpoint { return d.endpoints }

// targets returns the targets of a server, nil if it has none.
func (d *Dialer) targets(server netip.AddrPort) []Target {
	if len(d.endpoints) == 0 {
		return d.Targets
	}
	i := slices.IndexFunc(d.endpoints, func(e Endpoint) bool { return e.Address == server })
	if i < 0 {
		return nil
	}
	return Targets(d.endpoints[i].Web, d.endpoints[i].Hashes)
}

// Dial begins to open a session. server is the server's address in connect tokens. If the last session to the server was closed before it
// was open, Dial uses its next target. The error wraps ErrDial.
func (d *Dialer) Dial(server netip.AddrPort) (*Socket, error) {
	targets := d.targets(server)
	if len(targets) == 0 {
		return nil, fmt.Errorf("%w: the server %v has no known address for browsers", ErrDial, server)
	}
	key := targets[0].URL
	if d.last.socket != nil && d.last.socket.wasOpen() {
		d.worked = d.last.position
	}
	last, again := d.sessions[key]
	switch {
	case !again:
		last.position = d.worked % len(targets)
	case !last.socket.wasOpen():
		last.position = (last.position + 1) % len(targets)
	}
	var err error
	if last.socket, err = Dial(targets[last.position]); err != nil {
		return nil, err
	}
	last.socket.reaches = func(server netip.AddrPort) bool {
		targets := d.targets(server)
		return len(targets) > 0 && targets[0].URL == key
	}
	if d.sessions == nil || len(d.sessions) >= MaxEndpoints {
		d.sessions = map[string]opened{} // without those of servers that may have ended
	}
	d.sessions[key], d.last = last, last
	return last.socket, nil
}

// Reaches reports whether the session is one to the server with an address in connect tokens. A session that Dial of a Dialer has not opened
// is one to every server.
func (s *Socket) Reaches(server netip.AddrPort) bool { return s.reaches == nil || s.reaches(server) }

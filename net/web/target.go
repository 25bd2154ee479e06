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

// Dialer opens sessions to servers. It tries the ways to a server in turn: the first that can be opened is used. The zero value knows
// no server. One goroutine uses it.
type Dialer struct {
	Targets []Target // of servers that are in no list of endpoints, the preferred one first. Optional

	endpoints []Endpoint     // the newest first
	server    netip.AddrPort // of the last session
	way, used int            // the positions of its target, and of the target that was open last: the first one for another server
	last      *Socket
}

// mostKept bounds the endpoints of a Dialer. Those of the newest list are kept first.
const mostKept = 2 * MaxEndpoints

// Learn adds a list of endpoints, as of AppendEndpoints. The newest endpoint of an address is used. The error wraps ErrEndpoints.
func (d *Dialer) Learn(b []byte) error {
	list, err := ParseEndpoints(b)
	if err != nil {
		return err
	}
	for _, old := range d.endpoints {
		if !slices.ContainsFunc(list, func(e Endpoint) bool { return e.Address == old.Address }) {
			list = append(list, old)
		}
	}
	d.endpoints = list[:min(len(list), mostKept)]
	return nil
}

// Endpoints returns the endpoints that Learn has added, the newest first.
func (d *Dialer) Endpoints() []Endpoint { return d.endpoints }

// Dial begins to open a session to the server with an address in connect tokens, in the next way if the last session could not be opened.
// A client calls it for each attempt. The error wraps ErrDial.
func (d *Dialer) Dial(server netip.AddrPort) (*Socket, error) {
	targets := d.Targets
	if i := slices.IndexFunc(d.endpoints, func(e Endpoint) bool { return e.Address == server }); i >= 0 {
		targets = Targets(d.endpoints[i].Web, d.endpoints[i].Hashes)
	}
	if len(targets) == 0 {
		return nil, fmt.Errorf("%w: the server %v has no known address for browsers", ErrDial, server)
	}
	if d.last != nil && d.last.wasOpen() {
		d.used = d.way
	}
	switch {
	case server != d.server:
		d.server, d.way = server, d.used
	case d.last != nil && !d.last.opens():
		d.way++
	}
	s, err := Dial(targets[d.way%len(targets)])
	d.last = s
	return s, err
}

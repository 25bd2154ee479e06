package server

import (
	"crypto/rand"
	"encoding/binary"
	"io"
	"net/netip"
	"time"

	"tendon/net/netcode"
)

// Ticket is what a connect token is made of. A backend that has authenticated a player fills it; so do the token
// verb and tests.
type Ticket struct {
	// ProtocolID is the game's: see ProtocolID. Required.
	ProtocolID uint64
	// Key is the private key shared with the server. Required.
	Key netcode.Key
	// ClientID is the player's number among all players. One number has one connection to a server at a time. Zero: a
	// random one, for players who are nobody in particular.
	ClientID uint64
	// Addresses are where the client finds the server, as the client sees it. At least one.
	Addresses []netip.AddrPort
	// Pass says where the player goes, and as what. Its Issued is filled in.
	Pass Pass
	// Lifetime is how long the token can be presented. Zero: 45 s. At least 1 s.
	Lifetime time.Duration
	// Timeout is the silence that ends the connection. Zero: 5 s. At least 1 s.
	Timeout time.Duration
	// Random is the source of the connection's keys. Nil: crypto/rand. Others are for tests.
	Random io.Reader
}

// defaultSilence ends a connection of which nothing is heard. Keep-alives come ten times a second.
const defaultSilence = 5 * time.Second

// Mint makes a connect token: netcode.TokenSize bytes to hand to one client over a private channel. It is good for
// one connection. The Pass's Issued is set to now unless it says something.
func Mint(t Ticket, now time.Time) ([]byte, error) {
	if t.Pass.Issued.IsZero() {
		t.Pass.Issued = now
	}
	user, err := t.Pass.Append(make([]byte, 0, passSize))
	if err != nil {
		return nil, err
	}
	if t.ClientID == 0 {
		t.ClientID = randomID()
	}
	if t.Timeout == 0 {
		t.Timeout = defaultSilence
	}
	return netcode.GenerateToken(netcode.TokenRequest{
		ProtocolID: t.ProtocolID, Key: t.Key, ClientID: t.ClientID, Servers: t.Addresses, UserData: user,
		Lifetime: t.Lifetime, Timeout: t.Timeout, Random: t.Random,
	}, now)
}

func randomID() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return max(binary.LittleEndian.Uint64(b[:]), 1)
}

// ProtocolID returns the netcode protocol id of a game by its name. Clients and servers of different games, or of
// different versions of the wire, never get as far as a handshake. Whether the game's layouts agree is for net/session.
func ProtocolID(game string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a, 64 bits
	h := uint64(offset)
	for _, s := range [...]string{"tendon/", string(rune('0' + passVersion)), "/", game} {
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * prime
		}
	}
	return h
}

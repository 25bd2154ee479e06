package server

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"net/netip"
	"time"

	"tendon/net/netcode"
)

// Ticket describes a connect token. A backend that has authenticated a player fills it in, and so does the token verb.
type Ticket struct {
	ProtocolID uint64           // that of the game: see ProtocolID. Required
	Key        netcode.Key      // the private key shared with the server. Required
	ClientID   uint64           // identifies the player. One ClientID has one connection to a server at a time. 0: a random one
	Addresses  []netip.AddrPort // the addresses of the server as the client reaches it. At least one
	Pass       Pass             // the room, seat and role of the player. Its Issued is filled in
	Lifetime   time.Duration    // how long the token is valid; 0: 45 s. At least 1 s
	Timeout    time.Duration    // ends the connection if nothing arrives; 0: 5 s. At least 1 s
}

// Mint makes a connect token, of netcode.TokenSize bytes. Send it to the client over a private channel. It is valid for one
// connection. Pass.Issued is set to now if it is zero.
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
	return netcode.GenerateToken(netcode.TokenRequest{
		ProtocolID: t.ProtocolID, Key: t.Key, ClientID: t.ClientID, Servers: t.Addresses, UserData: user,
		Lifetime: t.Lifetime, Timeout: t.Timeout,
	}, now)
}

func randomID() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return max(binary.LittleEndian.Uint64(b[:]), 1)
}

// ProtocolID returns the netcode protocol id of a game by its name. The handshake fails between different games, and between
// different versions of the wire. net/session compares the layouts of the game.
func ProtocolID(game string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "tendon/%d/%s", passVersion, game)
	return h.Sum64()
}

package server

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"regexp"
	"time"

	"tendon/ecs/image"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/net/wire"
	"tendon/systems"
)

// Pass is the user data of a connect token: the room, the seat and the role of a client. It is trusted because the token is
// sealed, and no message of the client changes it. STANDARD.md has its layout.
type Pass struct {
	// Room is the name of the room: 1 to MaxRoomName bytes of a-z, 0-9, '.', '_' and '-'. The server makes a room that does
	// not exist.
	Room      string
	Seat      int          // the seat of the player, in [0, 254), or AnySeat. A spectator has AnySeat
	Role      systems.Role // what the client may do
	Epoch     uint32       // the number of the connection on which a reconnect token was sent. It is 0 in a token of a backend
	Reconnect bool         // marks a reconnect token, which the server made
	Bot       bool         // a program plays: other players see it
	Issued    time.Time    // when the token was made, to the millisecond
	// Name is shown to other players, at most session.MaxName bytes without control characters. Empty: the name that the
	// client chooses.
	Name string
	// Data is the data of the player's card, which Game.Join receives, at most image.MaxCardData bytes. Optional.
	Data []byte
}

// AnySeat lets the room choose the seat.
const AnySeat = room.AnySeat

// MaxRoomName is the longest name of a room, in bytes.
const MaxRoomName = 32

const (
	passMagic   = "tendon"
	passVersion = 1
	passSeats   = 254
	passSize    = len(passMagic) + 1 + 1 + 1 + 1 + 4 + 8 + 1 + MaxRoomName + 1 + session.MaxName + 2 + image.MaxCardData

	passReconnect = 1 // the flags
	passBot       = 2

	passLatest = 1 << 53 // milliseconds since 1970 that a floating-point number of every language holds
)

// ErrPass is wrapped by every error of encoding and decoding a Pass.
var ErrPass = errors.New("server: not a pass")

// Validate returns what is wrong with a Pass, or nil.
func (p *Pass) Validate() error {
	switch {
	case !roomName.MatchString(p.Room):
		return fmt.Errorf("%w: room %q: use 1 to %d characters of a-z, 0-9, '_', '-' and '.', the first not '.'", ErrPass, p.Room, MaxRoomName)
	case p.Seat < AnySeat || p.Seat >= passSeats:
		return fmt.Errorf("%w: seat %d: use 0 to %d, or -1 for any", ErrPass, p.Seat, passSeats-1)
	case !p.Role.Valid():
		return fmt.Errorf("%w: role %d: use 0 for a player or 1 for a spectator", ErrPass, p.Role)
	case p.Role == systems.RoleSpectator && p.Seat != AnySeat:
		return fmt.Errorf("%w: a spectator has no seat; use -1", ErrPass)
	case p.Issued.UnixMilli() < 0 || p.Issued.UnixMilli() > passLatest:
		return fmt.Errorf("%w: issued at %v: use a time from 1970 on", ErrPass, p.Issued)
	case wire.Clip(p.Name, session.MaxName) != p.Name:
		return fmt.Errorf("%w: name %q: use at most %d bytes of UTF-8 without control or invisible characters", ErrPass, p.Name, session.MaxName)
	case len(p.Data) > image.MaxCardData:
		return fmt.Errorf("%w: %d bytes of data for the player's card: use at most %d", ErrPass, len(p.Data), image.MaxCardData)
	}
	return nil
}

// roomName has no dot at its start, which would hide a file with that name.
var roomName = regexp.MustCompile(fmt.Sprintf(`^[a-z0-9_-][a-z0-9._-]{0,%d}$`, MaxRoomName-1))

// Append appends p as user data.
func (p *Pass) Append(dst []byte) ([]byte, error) {
	if err := p.Validate(); err != nil {
		return dst, err
	}
	w := wire.NewWriter(dst, passSize)
	w.Raw([]byte(passMagic))
	w.U8(passVersion)
	w.U8(uint8(p.Role))
	w.U8(uint8(p.Seat)) // AnySeat is 255
	w.U8(flagOf(p.Reconnect, passReconnect) | flagOf(p.Bot, passBot))
	w.U32(p.Epoch)
	w.U64(uint64(p.Issued.UnixMilli()))
	w.Blob([]byte(p.Room))
	w.Blob([]byte(p.Name))
	w.Blob(p.Data)
	return w.Bytes(), nil
}

func flagOf(set bool, flag uint8) uint8 {
	if set {
		return flag
	}
	return 0
}

// ParsePass decodes the user data of a token. Its error wraps ErrPass.
func ParsePass(b *[netcode.UserDataSize]byte) (Pass, error) {
	r := wire.NewReader(b[:])
	if string(r.Bytes(len(passMagic))) != passMagic {
		return Pass{}, fmt.Errorf("%w: the token was not made for a Tendon server", ErrPass)
	}
	if version := r.U8(); version != passVersion {
		return Pass{}, fmt.Errorf("%w: version %d, this build reads %d", ErrPass, version, passVersion)
	}
	p := Pass{Role: systems.Role(r.U8()), Seat: int(r.U8())}
	flags := r.U8()
	p.Reconnect, p.Bot, p.Epoch = flags&passReconnect != 0, flags&passBot != 0, r.U32()
	if p.Seat == 255 {
		p.Seat = AnySeat
	}
	millis := r.U64()
	p.Room, p.Name = string(r.Blob(MaxRoomName)), string(r.Blob(session.MaxName))
	p.Data = append([]byte(nil), r.Blob(image.MaxCardData)...)
	if padding := r.Rest(); r.Err() != nil || flags > passReconnect|passBot || millis > passLatest || len(bytes.Trim(padding, "\x00")) > 0 {
		return Pass{}, fmt.Errorf("%w: a field is outside its interval, or bytes follow the last one", ErrPass)
	}
	p.Issued = time.UnixMilli(int64(millis))
	return p, p.Validate()
}

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

package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"runtime"
	"time"

	"tendon/ecs"
	"tendon/net/netcode"
	"tendon/net/room"
)

// Config describes a server. Zero values stand for defaults where a field names one.
type Config struct {
	// Room is what every room is made of; Game and Strategy are required. Its MintToken is the server's own. Sinks and
	// Observer of one room belong into OpenRoom, since rooms run side by side.
	Room room.Config
	// OpenRoom changes the config of one room before it is made: its seed, its match number, its recorder. An error
	// turns away whoever wanted in. Game, MaxPeers and MintToken stay the server's. It is called on the worker's goroutine. nil: every room is as Room says, with a seed
	// and a match number of its own.
	OpenRoom func(name string, c *room.Config) error
	// CloseRoom is told of each room that is over, on its worker's goroutine, after its last tick and when all its matches
	// are decided. nil: nobody is.
	CloseRoom func(name string, r *room.Room)

	// Address is where to listen, as host:port or :port. Required, unless Socket is there.
	Address string
	// Socket is used in place of a socket of the server's own, and closed by it.
	Socket Socket
	// Public are the server's addresses as tokens name them; a token that names none of them is dropped. Empty: the
	// address that the socket has, which must then be one of a single host.
	Public []netip.AddrPort
	// Keys are the private keys shared with whoever makes tokens: the current one and, while tokens made with it may
	// still be about, the previous one. Required.
	Keys []netcode.Key

	// MaxRooms is the most rooms at once; 0: 256. A client that names another one is told that the server is full.
	MaxRooms int
	// MaxClients is the most connections at once; 0: what the rooms hold, at most 4096. A place costs about a kilobyte.
	MaxClients int
	// Workers is how many goroutines compute rooms; 0: one for each core.
	Workers int
	// EmptyRoom is how long a room without connections goes on; 0: 30 s. The server may keep it up to a second longer.
	EmptyRoom time.Duration
	// BytesPerSecond bounds what one client is sent, before sealing; 0: 262144.
	BytesPerSecond int
	// Farewell is how long rooms go on after Run was told to stop, with a notice to everybody; 0: not at all.
	Farewell time.Duration
	// Logger is told of rooms and connections, in at most a few lines per second, and never of a packet. nil: nobody is.
	Logger *slog.Logger
}

// ErrConfig is wrapped by every error about a Config.
var ErrConfig = errors.New("server: bad Config")

const (
	defaultRooms   = 256
	defaultClients = 4096
)

func (c Config) withDefaults() (Config, error) {
	if c.Room.Game == nil {
		return c, fmt.Errorf("%w: Room.Game is nil: name the game", ErrConfig)
	}
	if c.MaxRooms == 0 {
		c.MaxRooms = defaultRooms
	}
	if c.Room.MaxPeers == 0 {
		c.Room.MaxPeers = c.Room.Game.MaxPlayers + 16
	}
	if c.MaxClients == 0 && c.MaxRooms > 0 && c.Room.MaxPeers > 0 {
		c.MaxClients = min(c.MaxRooms*c.Room.MaxPeers, max(defaultClients, c.Room.MaxPeers))
	}
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.EmptyRoom == 0 {
		c.EmptyRoom = 30 * time.Second
	}
	if c.BytesPerSecond == 0 {
		c.BytesPerSecond = 256 << 10
	}
	for _, bound := range []struct {
		field     string
		value     int64
		low, high int64
	}{
		{"Keys (number of keys)", int64(len(c.Keys)), 1, 2},
		{"MaxRooms", int64(c.MaxRooms), 1, netcode.MaxSlots},
		{"MaxClients", int64(c.MaxClients), 1, netcode.MaxSlots},
		{"Workers", int64(c.Workers), 1, 1024},
		{"EmptyRoom (nanoseconds)", int64(c.EmptyRoom), 1, 1 << 62},
		{"BytesPerSecond", int64(c.BytesPerSecond), 8 << 10, 1 << 24},
		{"Farewell (nanoseconds)", int64(c.Farewell), 0, int64(time.Hour)},
	} {
		if bound.value < bound.low || bound.value > bound.high {
			return c, fmt.Errorf("%w: %s is %d, want %d to %d", ErrConfig, bound.field, bound.value, bound.low, bound.high)
		}
	}
	// A room that is thrown away says now what every room would say later.
	if _, err := room.New(c.Room, 0); err != nil {
		return c, fmt.Errorf("%w: Room: %w", ErrConfig, err)
	}
	return c, nil
}

// public returns the addresses that tokens may name.
func (c *Config) public(socket endpoint) ([]netip.AddrPort, error) {
	if len(c.Public) > 0 {
		return c.Public, nil
	}
	at, err := netip.ParseAddrPort(socket.LocalAddr().String())
	if err != nil || at.Addr().IsUnspecified() {
		return nil, fmt.Errorf("%w: Public is empty and the server listens on %v: name the address under which clients reach it",
			ErrConfig, socket.LocalAddr())
	}
	return []netip.AddrPort{at}, nil
}

// game and rate are short for what is asked often.
func (c *Config) game() *ecs.Game { return c.Room.Game }
func (c *Config) rate() int       { return c.Room.Game.TickRate }

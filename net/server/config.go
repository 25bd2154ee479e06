package server

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"runtime"
	"time"

	"tendon/net/netcode"
	"tendon/net/room"
)

// Config describes a server. Zero values select the defaults where a field names one.
type Config struct {
	// Room is the config of every room; Game and Strategy are required. MintToken is set by the server. OpenRoom sets the
	// Sinks and the Observer of one room.
	Room room.Config
	// OpenRoom changes the config of one room before the room is made: its seed, its match number, its sinks. On an error
	// the client is not admitted. Game, MaxPeers and MintToken cannot be changed. It is called on the goroutine of the
	// worker. Optional: without it, every room has a random seed and match number.
	OpenRoom func(name string, c *room.Config) error
	// CloseRoom receives each room that is closed, after its last tick and after all its matches are decided. It is called
	// on the goroutine of the worker. Optional.
	CloseRoom func(name string, r *room.Room)

	Address string // the address to listen on, as host:port or :port. Required unless Socket is set
	Socket  Socket // replaces the socket of the server. The server closes it. Optional
	// Public are the addresses of the server in connect tokens. A token without any of them is refused. Empty: the address
	// of the socket, which must then be that of a single host.
	Public []netip.AddrPort
	// Keys are the private keys shared with the makers of tokens: the present one, and the previous one while tokens made
	// with it may be valid. Required.
	Keys []netcode.Key

	MaxRooms int          // the maximum number of rooms; 0: 256. A client for another room is refused
	Workers  int          // the number of goroutines that compute rooms; 0: one for each core
	Logger   *slog.Logger // receives a few lines per second at most, about rooms and connections. Optional
}

// ErrConfig is wrapped by every error about a Config.
var ErrConfig = errors.New("server: bad Config")

const (
	mostClients = 4096             // bounds the connections of a server whose rooms have more places. A place costs about a kilobyte
	emptyRoom   = 30 * time.Second // how long a room without connections goes on. The server may keep it up to a second longer
)

func (c Config) withDefaults() (Config, error) {
	if c.Room.Game == nil {
		return c, fmt.Errorf("%w: Room.Game is nil: name the game", ErrConfig)
	}
	c.MaxRooms = cmp.Or(c.MaxRooms, 256)
	c.Room.MaxPeers = cmp.Or(c.Room.MaxPeers, c.Room.Game.MaxPlayers+16)
	c.Workers = cmp.Or(c.Workers, runtime.GOMAXPROCS(0))
	switch {
	case len(c.Keys) < 1 || len(c.Keys) > 2:
		return c, fmt.Errorf("%w: Keys has %d keys, want 1 or 2", ErrConfig, len(c.Keys))
	case c.MaxRooms < 1 || c.MaxRooms > netcode.MaxSlots:
		return c, fmt.Errorf("%w: MaxRooms is %d, want 1 to %d", ErrConfig, c.MaxRooms, netcode.MaxSlots)
	case c.Workers < 1 || c.Workers > 1024:
		return c, fmt.Errorf("%w: Workers is %d, want 1 to 1024", ErrConfig, c.Workers)
	}
	// A room that is not used reports now the errors of every later room.
	if _, err := room.New(c.Room, 0); err != nil {
		return c, fmt.Errorf("%w: Room: %w", ErrConfig, err)
	}
	return c, nil
}

func (c *Config) maxClients() int {
	return min(c.MaxRooms*c.Room.MaxPeers, max(mostClients, c.Room.MaxPeers))
}

// public returns the addresses that tokens may contain.
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

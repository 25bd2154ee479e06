package server

import (
	"cmp"
	"context"
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
	// Room is the config of every room; Game and Strategy are required. MintToken is set by the server. KeepSeat is at most
	// MaxKeepSeat. Reconnect tokens are valid for two minutes more, and a room is not closed while a seat may be kept in it.
	Room room.Config
	// OpenRoom changes the config of one room before the room is made: its seed, its match number, its sinks, but not Wake, Game,
	// MaxPeers, KeepSeat and MintToken. On an error the client is not admitted; a *session.Error selects the code that it receives,
	// and an *Elsewhere sends it to another server. OpenRoom
	// runs on a goroutine of its own and may wait for a disk. Several rooms may be opened at once. Optional: without it, every
	// room has a random seed and match number.
	OpenRoom func(name string, c *room.Config) error
	// CloseRoom receives each room that is closed, after all its matches are decided, on the goroutine of the worker: it must
	// not wait for a disk. r is nil if the room was not made after OpenRoom: a match that it resumes is then not over. Optional.
	CloseRoom func(name string, r *room.Room)

	Address string // the address to listen on, as host:port or :port. Required unless Socket is set
	Socket  Socket // replaces the socket of the server. The server closes it. Optional
	// Web is a second socket, of clients that do not use UDP, such as a Listener of net/web. The server closes it. Optional.
	Web Sessions
	// Public are the addresses of the server in connect tokens. A token without any of them is refused. Empty: the address
	// of the socket, which must then be that of a single host.
	Public []netip.AddrPort
	// Others returns the addresses of other servers with the same keys that may take over a room. Reconnect tokens contain them
	// after those of Public, up to netcode.MaxServers addresses. The goroutine of the worker calls it, so it must not block. The clients
	// of a room receive new tokens within a second after it returns another address. Optional.
	Others func(room string) []netip.AddrPort
	// Endpoints returns the list of the servers' addresses for browsers, encoded by web.AppendEndpoints. It has at most
	// session.MaxEndpointBytes bytes, and is nil if there are none. A connection of Web receives them before a token for these servers. It is called
	// like Others. Optional: without it, connections of Web cannot follow their room to another server.
	Endpoints func(servers []netip.AddrPort) []byte
	Keys      []netcode.Key // shared with the makers of tokens: the one that seals tokens, and optionally a second one that is accepted. Required
	// UsedTokens records the used tokens for the next process with these keys and addresses. Optional: without it, tokens
	// that were issued before New are refused.
	UsedTokens UsedTokens

	// BanTime is the length of the ban of an expelled client: all its tokens are refused. 0: 10 minutes; below 0: no ban.
	BanTime time.Duration
	Bans    []Ban // of the previous process. Optional
	// SaveBans receives the banned clients after each change, for Bans of the next process, and again 10 s after an error. It
	// may block, and is called on one goroutine at a time. Optional: without it the bans end with the server.
	SaveBans func([]Ban) error
	// Expelled receives each client that was expelled, on the goroutine of the worker. Its Until is in the past if the client is
	// not banned. It must not block. Optional.
	Expelled func(Ban)

	// Crashed receives each room whose rules panicked, on the goroutine of its worker and before CloseRoom. The room ends, the
	// other rooms continue. It must not block for long. Optional.
	Crashed func(Crash)

	// Lagged receives the time that matches gave up because the server stood still or is too slow, every 10 s at most. It must not
	// block for long. Optional.
	Lagged func(Lag)

	// StoodStill is called on a goroutine of its own after the process did not run for half a second, for example because of SIGSTOP. The
	// server sends no packet of a connection until StoodStill returns. If the process stands still again during the call, StoodStill
	// is called once more. Run cancels ctx when it ends, and waits for the call. Optional.
	StoodStill func(ctx context.Context)

	// Clock returns the time of the host, by which tokens are issued and expire. Tests replace it. Default: time.Now.
	Clock func() time.Time

	MaxRooms int          // the maximum number of rooms; 0: 256. A client for another room is refused
	OnStop   OnStop       // what becomes of running matches when the server stops
	Workers  int          // the number of goroutines that compute rooms; 0: one for each core
	Logger   *slog.Logger // receives a few lines per second at most, about rooms and connections. Optional
}

// UsedTokens is a record of used tokens that outlives the process. Its methods must not block.
type UsedTokens interface {
	// Since returns the moment since which the record has every used token. Tokens that were issued before are refused. It is
	// the zero time if no earlier process used the keys.
	Since() time.Time
	// Used reports whether an earlier process recorded a token.
	Used(token netcode.TokenID, expires uint64) bool
	// Floor returns a Unix second. Tokens that expire then or before count as used.
	Floor() uint64
	// Record begins to record a token, which expires at a Unix second, and reports whether it is on the disk. No packet of
	// its connection is sealed before that. Until then the client repeats its response, ten times a second. On an error the
	// client is denied with session.CodeStorage, and tries again. Records of tokens that expired before now may be dropped.
	Record(token netcode.TokenID, expires uint64, now time.Time) (recorded bool, err error)
}

// ErrConfig is wrapped by every error about a Config.
var ErrConfig = errors.New("server: bad Config")

// MaxKeepSeat is the maximum of Config.Room.KeepSeat.
const MaxKeepSeat = 24 * time.Hour

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
	c.BanTime = cmp.Or(c.BanTime, defaultBanTime)
	if c.Clock == nil {
		c.Clock = time.Now
	}
	switch {
	case len(c.Keys) < 1 || len(c.Keys) > 2:
		return c, fmt.Errorf("%w: Keys has %d keys, want 1 or 2", ErrConfig, len(c.Keys))
	case c.MaxRooms < 1 || c.MaxRooms > netcode.MaxSlots:
		return c, fmt.Errorf("%w: MaxRooms is %d, want 1 to %d", ErrConfig, c.MaxRooms, netcode.MaxSlots)
	case c.Room.KeepSeat > MaxKeepSeat:
		return c, fmt.Errorf("%w: Room.KeepSeat is %v, want at most %v", ErrConfig, c.Room.KeepSeat, MaxKeepSeat)
	case c.BanTime > MaxBanTime:
		return c, fmt.Errorf("%w: BanTime is %v, want at most %v", ErrConfig, c.BanTime, MaxBanTime)
	case c.OnStop >= onStops:
		return c, fmt.Errorf("%w: OnStop is %d, want End, Keep or Finish", ErrConfig, c.OnStop)
	case c.Workers < 1 || c.Workers > 1024:
		return c, fmt.Errorf("%w: Workers is %d, want 1 to 1024", ErrConfig, c.Workers)
	}
	// A room that is not used reports now the errors of every later room.
	if _, err := room.New(c.Room, 0); err != nil {
		return c, fmt.Errorf("%w: Room: %w", ErrConfig, err)
	}
	return c, nil
}

func (c *Config) reconnectLife() time.Duration { return c.Room.KeepSeat + reconnectLife }

func (c *Config) emptyRoom() time.Duration { return max(emptyRoom, c.Room.KeepSeat+emptyRoom/2) }

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

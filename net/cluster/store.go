package cluster

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Store is the storage that the servers of a cluster share: a log for each room, and the announcements of servers. All methods
// may be called on any goroutine, and return when ctx is done.
type Store interface {
	// Append adds an entry to the log of a room and returns its sequence number, which is larger than that of the room's previous entry.
	// The entry is added only if Entry.Before is the number of the newest entry, or 0 if there is none. Otherwise the error wraps
	// ErrConflict. When Append returns nil, the entry survives the failures that the store tolerates. After any other
	// error the entry may or may not be added, even later.
	Append(ctx context.Context, room string, e *Entry) (sequence uint64, err error)
	// Last returns the newest entry of a room and its sequence number, or 0 if there is none. The result may be stale for a moment.
	Last(ctx context.Context, room string) (e Entry, sequence uint64, err error)
	// Read yields the entries of a room with numbers in [from, to], in order, with their numbers. An error ends it. It does
	// not detect missing entries.
	Read(ctx context.Context, room string, from, to uint64) iter.Seq2[Stored, error]
	// Trim removes the entries of a room with numbers below before, which is that of an entry of the room. They may be removed later, or
	// never.
	Trim(ctx context.Context, room string, before uint64) error
	// Announce replaces the announcement of a server.
	Announce(ctx context.Context, s Server) error
	// Withdraw removes the announcement of a server.
	Withdraw(ctx context.Context, id string) error
	// Expire removes the announcement of a server that is dead, if no newer one than s has been accepted.
	Expire(ctx context.Context, s Server) error
	// Watch yields the newest announcement of each server, and then every later one, in the order in which the store accepted them, until ctx
	// is done. A withdrawn one has Beat 0. An error ends the sequence. It may also stop without an error, or fall behind. The caller then
	// cancels ctx and calls Watch again.
	Watch(ctx context.Context) iter.Seq2[Server, error]
}

// Stored is an entry with its sequence number, and the time at which it was added by the clock of the store.
type Stored struct {
	Entry
	Sequence uint64
	At       time.Time
}

// MoveStatus is the reply of a server to which another one is about to move a room.
type MoveStatus struct {
	// Draining is true if the server observes that the other one drains. Otherwise it sends the clients of the room back.
	Draining bool `json:"draining"`
	// Free is the number of rooms for which it has space, the room included.
	Free int `json:"free"`
	// Waiting is the number of connections that wait there for the room.
	Waiting int `json:"waiting"`
	// Open is true if the room is open there.
	Open bool `json:"open"`
}

// ErrConflict is wrapped by the error of Store.Append if the entry was not added because another one is newer.
var ErrConflict = errors.New("cluster: another entry is newer")

// Server is an announcement of a server.
type Server struct {
	// ID identifies the process. It is unique, even among processes of one server. 1 to MaxID bytes of a-z, A-Z, 0-9, '_' and '-'.
	ID string `json:"id"`
	// Beat increases with every announcement of the process. It is never 0.
	Beat uint64 `json:"beat"`
	// Name is shown to people. Example: the name of the host.
	Name string `json:"name"`
	// Addresses are the addresses for connect tokens, as HOST:PORT.
	Addresses []string `json:"addresses"`
	// Web is the address of the server for browsers. Optional.
	Web string `json:"web,omitempty"`
	// WebHashes are the SHA-256 hashes of its self-signed certificates, 32 bytes each. Optional.
	WebHashes [][]byte `json:"web_hashes,omitempty"`
	// Admin is the address of the admin server as operators and the backend reach it, as HOST:PORT or an https URL. Optional.
	Admin string `json:"admin,omitempty"`
	// Keys are the Fingerprints of the keys whose tokens the server opens. The server seals its tokens with the first key. Optional: servers
	// of older builds announce none.
	Keys []string `json:"keys,omitempty"`
	// Build and Protocol decide which clients and matches are compatible.
	Build    string `json:"build"`
	Protocol uint64 `json:"protocol,string"`
	// MaxRooms is the maximum number of rooms. Rooms and Players are the present numbers.
	MaxRooms int `json:"max_rooms"`
	Rooms    int `json:"rooms"`
	Players  int `json:"players"`
	// Draining is true if the server accepts no further rooms and releases its own.
	Draining bool `json:"draining,omitempty"`
}

// Fingerprint returns a text that identifies a key without revealing it. It is the first half of the SHA-256 hash of "tendon key fingerprint"
// and the key, as 32 hexadecimal digits.
func Fingerprint(key []byte) string {
	sum := sha256.Sum256(append([]byte("tendon key fingerprint"), key...))
	return hex.EncodeToString(sum[:16])
}

// Opens reports whether the server opens tokens that are sealed with the key of a fingerprint. It returns true if the
// server announces no keys.
func (s *Server) Opens(key string) bool { return len(s.Keys) == 0 || slices.Contains(s.Keys, key) }

// Spread returns servers in an order that depends on the room. Clients try them in this order after the server of the room has died, so its
// rooms are spread over all servers (rendezvous hashing: Thaler and Ravishankar, 1998).
func Spread(servers []Server, room string) []Server {
	type weighted struct {
		weight uint64
		server *Server
	}
	list := make([]weighted, len(servers))
	for i := range servers {
		list[i] = weighted{xxhash.Sum64String(room + "\x00" + servers[i].ID), &servers[i]}
	}
	slices.SortFunc(list, func(a, b weighted) int { return cmp.Compare(a.weight, b.weight) })
	sorted := make([]Server, len(list))
	for i := range list {
		sorted[i] = *list[i].server
	}
	return sorted
}

package cluster

import (
	"context"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"tendon/net/netcode"
)

// TokenStore is the part of a store that makes a connect token valid for one connection in the whole cluster.
type TokenStore interface {
	// Since returns the time since which the store has recorded every used token.
	Since() time.Time
	// Take records a token under a key until it expires, and reports whether it was not recorded before. After an error it may or
	// may not be recorded.
	Take(ctx context.Context, token, by string, expires time.Time) (first bool, err error)
}

// Tokens records used tokens in a store that all servers share. It implements server.UsedTokens.
type Tokens struct {
	store TokenStore
	by    string
	since time.Time
	slots chan struct{}

	mu     sync.Mutex
	taking map[netcode.TokenID]*taking
}

// taking is a token that this process presented to the store.
type taking struct {
	expires uint64
	done    bool // the store has answered
	free    bool // the token is this connection's
	err     error
}

const (
	mostTakes = 64 // in flight at a time
	// takeLimit is the timeout of one request. Its reply may be lost with the connection, and the client that waits for it asks again.
	takeLimit = 500 * time.Millisecond
)

// ErrTokens is returned if too many tokens wait for the store.
var ErrTokens = errors.New("cluster: too many tokens wait for the store")

// NewTokens returns the record of a server with an ID.
func NewTokens(s TokenStore, id string) *Tokens {
	return &Tokens{store: s, by: id, since: s.Since(), slots: make(chan struct{}, mostTakes), taking: map[netcode.TokenID]*taking{}}
}

// Since returns the time since which every used token is recorded.
func (t *Tokens) Since() time.Time { return t.since }

// Floor returns 0: no token counts as used because of its expiry time.
func (t *Tokens) Floor() uint64 { return 0 }

// Used reports whether this process knows that another connection used a token. Record also checks the store.
func (t *Tokens) Used(token netcode.TokenID, _ uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.taking[token]
	return k != nil && k.done && k.err == nil && !k.free
}

// Record starts to record a token, and reports whether it is recorded. The error is the store's.
func (t *Tokens) Record(token netcode.TokenID, expires uint64, now time.Time) (recorded bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.taking[token]
	switch {
	case k == nil || k.done && k.err != nil:
		if k != nil {
			err, k.err = k.err, nil
			delete(t.taking, token) // the next call tries again
			return false, err
		}
		t.drop(now)
		select {
		case t.slots <- struct{}{}:
		default:
			return false, ErrTokens
		}
		k = &taking{expires: expires}
		t.taking[token] = k
		go t.take(token, k)
		return false, nil
	}
	return k.done && k.free, nil
}

func (t *Tokens) take(token netcode.TokenID, k *taking) {
	ctx, cancel := context.WithTimeout(context.Background(), takeLimit)
	defer cancel()
	free, err := t.store.Take(ctx, hex.EncodeToString(token[:]), t.by, time.Unix(int64(k.expires), 0))
	<-t.slots
	t.mu.Lock()
	defer t.mu.Unlock()
	k.done, k.free, k.err = true, free, err
}

// drop removes expired tokens. Each call checks a few tokens.
func (t *Tokens) drop(now time.Time) {
	seen := 0
	for id, k := range t.taking {
		if k.done && k.expires <= uint64(max(now.Unix(), 0)) {
			delete(t.taking, id)
		}
		if seen++; seen == 8 {
			return
		}
	}
}

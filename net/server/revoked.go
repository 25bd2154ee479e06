package server

import (
	"slices"
	"time"
)

// revoked records which tokens of recent clients are not valid any more although they were not used.
//
// The connections of a client are numbered: their epochs. A reconnect token carries the epoch of the connection on which
// it was sent. It is valid until a later connection of the client has acknowledged a token of its own, since a token that
// was not acknowledged may never have arrived. If a token of a backend replaces a connection, the reconnect tokens of that
// connection are revoked at once. The number of these records is bounded; the oldest is dropped first.
//
// If a client is kicked, all tokens that were issued before are revoked, also those of other servers. A token of a backend may be
// valid for any time, so the records of the last MaxBans kicked clients are kept.
type revoked struct {
	of    map[uint64]revocation
	order []uint64 // the clients, oldest record first
	limit int
	life  time.Duration // of a reconnect token

	kicks  map[uint64]kick
	kicked []uint64 // the clients, oldest kick first
}

type revocation struct {
	epoch uint32    // reconnect tokens below it are refused
	until time.Time // they have expired by then
}

// kick is the time of a kick, by the clock that sets Pass.Issued: that of the host, or of reconnect tokens.
type kick struct{ host, reconnect time.Time }

func (r *revoked) refuses(client uint64, p *Pass) bool {
	return r.before(client, p) || p.Reconnect && p.Epoch < r.of[client].epoch
}

// before reports whether a token was issued before its client was kicked.
func (r *revoked) before(client uint64, p *Pass) bool {
	if p.Reconnect {
		return p.Issued.Before(r.kicks[client].reconnect)
	}
	return p.Issued.Before(r.kicks[client].host)
}

// kick revokes all tokens of a client that were issued before now.
func (t *connTable) kick(client uint64, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.conns {
		if c != nil && c.client == client {
			t.revoked.add(client, c.epoch+1, now)
		}
	}
	t.revokeIssued(client, now)
}

// revokeIssued revokes all tokens of a client that were issued before now. The caller holds the lock.
func (t *connTable) revokeIssued(client uint64, now time.Time) {
	host, _ := t.wall.both(now)
	t.revoked.kick(client, host, t.wall.later(now))
}

// excludes returns whether a client that was admitted may not enter its room any more, and the text for it.
func (t *connTable) excludes(c *conn, now time.Time) (text string, excluded bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b, banned := t.bans.find(c.client, now); banned {
		t.counts.Banned++
		return b.text(now), true
	}
	return "", t.revoked.before(c.client, &c.pass)
}

func (r *revoked) nextEpoch(client uint64, p *Pass) uint32 {
	return max(r.of[client].epoch, p.Epoch) + 1
}

// add revokes the reconnect tokens of a client below an epoch. An earlier revocation stays in effect.
func (r *revoked) add(client uint64, epoch uint32, now time.Time) {
	for len(r.order) > 0 && (len(r.order) >= r.limit || !now.Before(r.of[r.order[0]].until)) {
		delete(r.of, r.order[0])
		r.order = slices.Delete(r.order, 0, 1)
	}
	old, known := r.of[client]
	if !known {
		r.order = append(r.order, client)
	}
	r.of[client] = revocation{epoch: max(epoch, old.epoch), until: now.Add(r.life + time.Minute)}
}

// kick revokes the tokens of a client that were issued before a time, which is given by both clocks. An earlier kick stays in effect.
func (r *revoked) kick(client uint64, host, reconnect time.Time) {
	old, known := r.kicks[client]
	if !known && len(r.kicked) >= MaxBans {
		delete(r.kicks, r.kicked[0])
		r.kicked = slices.Delete(r.kicked, 0, 1)
	}
	if !known {
		r.kicked = append(r.kicked, client)
	}
	host, reconnect = host.Truncate(time.Millisecond), reconnect.Truncate(time.Millisecond) // as Pass.Issued
	// The other clock never goes back.
	if host.Before(old.host) {
		host = old.host
	}
	r.kicks[client] = kick{host, reconnect}
}

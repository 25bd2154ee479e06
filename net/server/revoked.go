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
// connection are revoked at once. If a client is kicked, all tokens that were issued before are revoked, also those of other
// servers. The number of records is bounded; the oldest is dropped first.
type revoked struct {
	of    map[uint64]revocation
	order []uint64 // the clients, oldest record first
	limit int
	life  time.Duration // of a reconnect token
}

type revocation struct {
	epoch  uint32    // reconnect tokens below it are refused
	issued time.Time // tokens that were issued before it are refused; zero: none
	until  time.Time // all tokens concerned have expired by then
}

func (r *revoked) refuses(client uint64, p *Pass) bool {
	return r.kicked(client, p) || p.Reconnect && p.Epoch < r.of[client].epoch
}

// kicked reports whether a token was issued before its client was kicked.
func (r *revoked) kicked(client uint64, p *Pass) bool { return p.Issued.Before(r.of[client].issued) }

// kick revokes all tokens of a client that were issued before now.
func (t *connTable) kick(client uint64, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	epoch := uint32(0)
	for _, c := range t.conns {
		if c != nil && c.client == client {
			epoch = c.epoch + 1
		}
	}
	t.revoked.add(client, epoch, now.Truncate(time.Millisecond), now) // as Pass.Issued
}

// excludes returns whether a client that was admitted may not enter its room any more, and the text for it.
func (t *connTable) excludes(c *conn, now time.Time) (text string, excluded bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b, banned := t.bans.find(c.client, now); banned {
		t.counts.Banned++
		return b.text(now), true
	}
	return "", t.revoked.kicked(c.client, &c.pass)
}

func (r *revoked) nextEpoch(client uint64, p *Pass) uint32 {
	return max(r.of[client].epoch, p.Epoch) + 1
}

// add revokes the reconnect tokens below an epoch and all tokens that were issued before a moment. An earlier revocation of the
// same client stays in effect.
func (r *revoked) add(client uint64, epoch uint32, issued, now time.Time) {
	for len(r.order) > 0 && (len(r.order) >= r.limit || !now.Before(r.of[r.order[0]].until)) {
		delete(r.of, r.order[0])
		r.order = slices.Delete(r.order, 0, 1)
	}
	old, known := r.of[client]
	if !known {
		r.order = append(r.order, client)
	}
	if issued.Before(old.issued) {
		issued = old.issued
	}
	r.of[client] = revocation{epoch: max(epoch, old.epoch), issued: issued, until: now.Add(r.life + time.Minute)}
}

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Claim makes this server the owner of a room. If another live server owns it, the error is an *OwnedError. If the
// announcement of the owner is late by half a lease, Claim waits until it arrives or the owner is dead. If the owner drains, Claim waits until
// it releases the room, and reads its log meanwhile. If the owner has an address of this server, it is a former process of the same server.
// Claim then waits for at most two leases until that process releases the room or is dead.
//
// If the former owner moved the room to this server, Claim appends nothing. If it moved the room to another server that drains, and that
// appends nothing for two leases, Claim claims the room.
//
// The process must not own the room already.
func (n *Node) Claim(ctx context.Context, room string) (*Room, error) {
	f, began := follower{node: n, room: room}, time.Now()
	var seen uint64 // the newest entry
	var since time.Time
	for {
		last, at, err := f.last(ctx)
		if err != nil { // its reply may be lost
			if paused := pause(ctx, n.config.Lease/16); paused != nil {
				return nil, errors.Join(err, paused)
			}
			continue
		}
		if at != seen {
			seen, since = at, time.Now()
		}
		moved := at != 0 && last.Kind == KindMove // the owner has appended nothing
		if at != 0 && last.owner() != "" && last.owner() != n.self.ID {
			owner, age, alive := n.alive(last.owner())
			if alive && age < n.config.Lease/2 && owner.Beat != 0 && !owner.Draining && (!n.replaces(&owner) || time.Since(began) >= 2*n.config.Lease) {
				return nil, &OwnedError{room, owner}
			}
			if alive && !(moved && owner.Draining && time.Since(since) >= 2*n.config.Lease) {
				f.follow(ctx, &last, at)
				wait := n.config.Lease / 16
				if owner.Draining { // its clients wait
					wait = min(wait, 4*time.Millisecond)
				}
				if err := pause(ctx, wait); err != nil {
					return nil, errors.Join(&OwnedError{room, owner}, err)
				}
				continue
			}
		}
		n.mu.Lock()
		n.claims++
		numbers := n.claims << 32
		n.mu.Unlock()
		from, fence := begin(&last, at), at
		moved = moved && last.Next == n.self.ID
		sent := time.Now()
		if !moved {
			claim := Entry{Kind: KindClaim, Owner: n.self.ID, Number: numbers, Before: at, From: from}
			if fence, err = n.append(ctx, room, &claim); errors.Is(err, ErrConflict) {
				f.log = nil
				continue
			}
			if err != nil {
				return nil, err
			}
		}
		r := &Room{node: n, name: room, fence: fence, last: fence, begin: from, numbers: numbers, from: from, before: at, known: f.log, released: moved || at != 0 && last.Kind == KindRelease}
		if !moved {
			r.sent.Store(&sent)
		}
		return r, nil
	}
}

// replaces reports whether other has an address of this server.
func (n *Node) replaces(other *Server) bool {
	return slices.ContainsFunc(n.config.Server.Addresses, func(a string) bool { return slices.Contains(other.Addresses, a) })
}

// begin returns the number of the first entry of the journal whose newest entry, last, has the number at.
func begin(last *Entry, at uint64) uint64 {
	switch {
	case last.Kind == KindEnd:
		return 0
	case last.From == itself:
		return at
	}
	return last.From
}

// append adds an entry. The error wraps ErrConflict if another entry follows Before. So it does if the store still refuses the entry when ctx is
// done: the store has then lost the entry Before. After any other error, which is that of ctx, the entry may be added later.
func (n *Node) append(ctx context.Context, room string, e *Entry) (uint64, error) {
	for wait := n.config.Lease / 64; ; wait = min(2*wait, n.config.Lease/4) {
		at, err := n.config.Store.Append(ctx, room, e)
		if err == nil || errors.Is(err, ErrEntry) {
			return at, err
		}
		last, at, unread := n.config.Store.Last(ctx, room)
		switch {
		case unread != nil || at <= e.Before: // not added yet, or the read was stale
		case last.Owner == e.Owner && last.Fence == e.Fence && last.Number == e.Number && last.Kind == e.Kind:
			return at, nil
		default:
			return 0, ErrConflict
		}
		if paused := pause(ctx, wait); paused != nil {
			return 0, fmt.Errorf("%w (%w)", err, paused)
		}
	}
}

// pause waits, or returns the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// OwnedError is the error of a claim of a room that belongs to a server that is alive.
type OwnedError struct {
	Room   string
	Server Server
}

// Error names the owner.
func (e *OwnedError) Error() string {
	return fmt.Sprintf("cluster: room %s is on server %s", e.Room, cmp.Or(e.Server.Name, e.Server.ID))
}

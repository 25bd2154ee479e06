package cluster

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// follower reads the log of a room that another server still owns, so that the next owner has the journal at once.
type follower struct {
	node  *Node
	room  string
	log   []Stored // the newest entries in order, from the one with which the journal begins; empty: it does not follow
	reads int
}

// lastEvery is the number of reads after which a follower asks for the newest entry: the replica that answers reads may be stale.
const lastEvery = 8

// last returns the newest entry of the room and its sequence number, or 0 if there is none.
func (f *follower) last(ctx context.Context) (Entry, uint64, error) {
	if f.reads++; len(f.log) == 0 || f.reads%lastEvery == 0 {
		return f.node.config.Store.Last(ctx, f.room)
	}
	if err := f.read(ctx, f.log[len(f.log)-1].Sequence+1); err != nil {
		return Entry{}, 0, err
	}
	newest := &f.log[len(f.log)-1]
	return newest.Entry, newest.Sequence, nil
}

// follow begins to follow the log, whose newest entry is known.
func (f *follower) follow(ctx context.Context, last *Entry, at uint64) {
	if len(f.log) == 0 {
		_ = f.read(ctx, cmp.Or(begin(last, at), at)) // otherwise it begins later
	}
}

// read reads the entries from a number on. Room.Recovered finds missing ones.
func (f *follower) read(ctx context.Context, from uint64) error {
	for e, err := range f.node.config.Store.Read(ctx, f.room, from, math.MaxUint64) {
		if err != nil {
			return err
		}
		f.log = append(f.log, e)
		if first := begin(&e.Entry, e.Sequence); first > f.log[0].Sequence {
			f.log = slices.DeleteFunc(f.log, func(old Stored) bool { return old.Sequence < first })
		}
	}
	return nil
}

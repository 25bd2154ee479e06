package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Kind is the kind of an Entry.
type Kind uint8

// The kinds. Their numbers are in the log.
const (
	KindClaim   Kind = 1 // Owner owns the room from here on
	KindData    Kind = 2 // Body continues the journal
	KindRelease Kind = 3 // Body ends the journal of this owner: the next server that claims the room continues the match
	KindEnd     Kind = 4 // the match is over: the next claim begins with an empty journal
	KindPart    Kind = 5 // Body is a part of a restarted journal's beginning; an entry of KindData completes it
)

// Entry is an entry of a room's log. The room's entries form a chain: Before is the sequence number of the entry before.
type Entry struct {
	Kind   Kind
	Owner  string // Server.ID of the owner, 1 to MaxID bytes
	Fence  uint64 // sequence number of the owner's claim; 0 in a claim
	Number uint64 // counts the entries of this owner in this process, to distinguish them
	Before uint64 // sequence number of the room's previous entry; 0: this is the first one
	// From is the sequence number of the entry with which the journal begins. 0: no journal; itself: this entry.
	From uint64
	Body []byte // of KindData, KindPart and KindRelease, at most MaxBody bytes
}

const (
	// MaxID is the longest Server.ID, in bytes.
	MaxID = 64
	// MaxBody is the largest Entry.Body, in bytes. NATS accepts messages of 1 MiB by default.
	MaxBody = 512 << 10

	// itself is Entry.From of an entry with which a journal begins. The store chooses its number, so the entry cannot contain it.
	itself = ^uint64(0)

	entryVersion = 1
	entryHeader  = 2 + 4*8 + 1
)

// ErrEntry is wrapped by the errors of Entry.Append and ParseEntry.
var ErrEntry = errors.New("cluster: not an entry of a room's log")

// Append appends the entry's bytes: a version, the kind, Fence, Number, Before and From of 8 bytes each, lowest byte first, the length
// of Owner, Owner, and Body.
func (e *Entry) Append(dst []byte) ([]byte, error) {
	if err := e.check(); err != nil {
		return dst, err
	}
	dst = append(dst, entryVersion, byte(e.Kind))
	for _, n := range [...]uint64{e.Fence, e.Number, e.Before, e.From} {
		dst = binary.LittleEndian.AppendUint64(dst, n)
	}
	dst = append(dst, byte(len(e.Owner)))
	dst = append(dst, e.Owner...)
	return append(dst, e.Body...), nil
}

// ParseEntry reads an entry. Its Body aliases b.
func ParseEntry(b []byte) (e Entry, err error) {
	if len(b) < entryHeader {
		return e, fmt.Errorf("%w: %d bytes", ErrEntry, len(b))
	}
	if b[0] != entryVersion {
		return e, fmt.Errorf("%w: version %d, this build reads version %d", ErrEntry, b[0], entryVersion)
	}
	e.Kind = Kind(b[1])
	for i, n := range [...]*uint64{&e.Fence, &e.Number, &e.Before, &e.From} {
		*n = binary.LittleEndian.Uint64(b[2+8*i:])
	}
	id, rest := int(b[entryHeader-1]), b[entryHeader:]
	if len(rest) < id {
		return e, fmt.Errorf("%w: truncated owner", ErrEntry)
	}
	e.Owner, e.Body = string(rest[:id]), rest[id:]
	return e, e.check()
}

func (e *Entry) check() error {
	switch {
	case e.Kind < KindClaim || e.Kind > KindPart:
		return fmt.Errorf("%w: kind %d", ErrEntry, e.Kind)
	case e.Owner == "" || len(e.Owner) > MaxID:
		return fmt.Errorf("%w: the owner has %d bytes", ErrEntry, len(e.Owner))
	case len(e.Body) > MaxBody:
		return fmt.Errorf("%w: the body has %d bytes", ErrEntry, len(e.Body))
	case (e.Kind == KindClaim || e.Kind == KindEnd || e.Kind == KindRelease && e.From == 0) && len(e.Body) > 0:
		return fmt.Errorf("%w: a body in an entry of kind %d", ErrEntry, e.Kind)
	case (e.Kind == KindClaim) != (e.Fence == 0):
		return fmt.Errorf("%w: fence %d in an entry of kind %d", ErrEntry, e.Fence, e.Kind)
	case e.From == itself && e.Kind != KindData:
		return fmt.Errorf("%w: a journal begins with an entry of kind %d", ErrEntry, e.Kind)
	}
	return nil
}

// owned reports whether the room has an owner after the entry.
func (e *Entry) owned() bool { return e.Kind != KindRelease && e.Kind != KindEnd }

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
	KindMove    Kind = 6 // like KindRelease, but Next owns the room after this entry, without a claim
)

// Entry is an entry of a room's log. The room's entries form a chain: Before is the sequence number of the entry before.
type Entry struct {
	Kind   Kind
	Owner  string // Server.ID of the owner, 1 to MaxID bytes
	Next   string // Server.ID of the next owner, 1 to MaxID bytes; empty except in KindMove
	Fence  uint64 // sequence number of the owner's claim, or of the move to it; 0 in a claim
	Number uint64 // distinguishes the entries of this owner in this process
	Before uint64 // sequence number of the room's previous entry; 0: this is the first one
	// From is the sequence number of the entry with which the journal begins. 0: no journal; itself: this entry.
	From uint64
	Body []byte // of KindData, KindPart, KindRelease and KindMove, at most MaxBody bytes
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

// Append appends the encoded entry: version, kind, then Fence, Number, Before and From of 8 bytes each, lowest byte first. Owner follows
// a byte with its length. So does Next in an entry of KindMove. Body is the rest.
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
	if e.Kind == KindMove {
		dst = append(dst, byte(len(e.Next)))
		dst = append(dst, e.Next...)
	}
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
	var whole bool
	e.Owner, e.Body, whole = cutID(b[entryHeader-1:])
	if whole && e.Kind == KindMove {
		e.Next, e.Body, whole = cutID(e.Body)
	}
	if !whole {
		return e, fmt.Errorf("%w: truncated ID", ErrEntry)
	}
	return e, e.check()
}

// cutID reads an ID after its length.
func cutID(b []byte) (id string, rest []byte, ok bool) {
	if len(b) == 0 || len(b)-1 < int(b[0]) {
		return "", nil, false
	}
	return string(b[1 : 1+int(b[0])]), b[1+int(b[0]):], true
}

func (e *Entry) check() error {
	switch {
	case e.Kind < KindClaim || e.Kind > KindMove:
		return fmt.Errorf("%w: kind %d", ErrEntry, e.Kind)
	case e.Owner == "" || len(e.Owner) > MaxID:
		return fmt.Errorf("%w: the owner has %d bytes", ErrEntry, len(e.Owner))
	case (e.Kind == KindMove) != (e.Next != "") || len(e.Next) > MaxID:
		return fmt.Errorf("%w: the next owner has %d bytes in an entry of kind %d", ErrEntry, len(e.Next), e.Kind)
	case len(e.Body) > MaxBody:
		return fmt.Errorf("%w: the body has %d bytes", ErrEntry, len(e.Body))
	case (e.Kind == KindClaim || e.Kind == KindEnd || e.releases() && e.From == 0) && len(e.Body) > 0:
		return fmt.Errorf("%w: a body in an entry of kind %d", ErrEntry, e.Kind)
	case (e.Kind == KindClaim) != (e.Fence == 0):
		return fmt.Errorf("%w: fence %d in an entry of kind %d", ErrEntry, e.Fence, e.Kind)
	case e.From == itself && e.Kind != KindData:
		return fmt.Errorf("%w: a journal begins with an entry of kind %d", ErrEntry, e.Kind)
	}
	return nil
}

// releases reports whether the owner gives up the room with this entry, and the next one continues the match.
func (e *Entry) releases() bool { return e.Kind == KindRelease || e.Kind == KindMove }

// owner returns the ID of the room's owner after the entry, or "" if it has none.
func (e *Entry) owner() string {
	switch e.Kind {
	case KindRelease, KindEnd:
		return ""
	case KindMove:
		return e.Next
	}
	return e.Owner
}

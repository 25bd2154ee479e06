package server

import (
	"sync"

	"tendon/systems"
)

// inbox carries what happened on the socket to the worker whose rooms it concerns, in order. Packets are copied and
// bounded; what a worker does not take in time is lost and counted, and nobody waits. News of connections is never
// lost: there are at most two for each.
//
// Two of them exist for each worker: one is filled while the other is worked off.
type inbox struct {
	mu      sync.Mutex // held for a copy of one packet, or for a swap
	filling letters
	lost    uint64
	wake    chan struct{} // holds one: there is news that must not wait for a tick
}

// letters is one side of an inbox.
type letters struct {
	list  []letter
	bytes []byte
}

type letter struct {
	kind letterKind
	conn *conn
	at   systems.Time // when it arrived
	from int          // letterPacket: the opened payload is bytes[from:to]
	to   int
	call func(w *worker) // letterCall
}

type letterKind uint8

const (
	letterPacket letterKind = iota
	letterJoined            // a connection was made
	letterGone              // a connection is over; its client may come back
	letterLeft              // a connection is over, and its client said so
	letterCall              // the server wants something done on the worker
)

// inboxBytes bounds the packets that wait for one worker. At 60 bytes each it holds a second of 64 000 packets.
const inboxBytes = 4 << 20

// packet files an opened payload.
func (b *inbox) packet(c *conn, payload []byte, at systems.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := &b.filling
	if len(l.bytes)+len(payload) > inboxBytes {
		b.lost++
		return
	}
	from := len(l.bytes)
	l.bytes = append(l.bytes, payload...)
	l.list = append(l.list, letter{kind: letterPacket, conn: c, at: at, from: from, to: len(l.bytes)})
}

// news files anything else and wakes the worker.
func (b *inbox) news(n letter) {
	b.mu.Lock()
	b.filling.list = append(b.filling.list, n)
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// take swaps the filled side for an emptied one, and returns how many packets were lost since the last time.
func (b *inbox) take(emptied letters) (filled letters, lost uint64) {
	clear(emptied.list) // connections that are over are not kept by it
	emptied.list, emptied.bytes = emptied.list[:0], emptied.bytes[:0]
	b.mu.Lock()
	defer b.mu.Unlock()
	filled, b.filling = b.filling, emptied
	lost, b.lost = b.lost, 0
	return filled, lost
}

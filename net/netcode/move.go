package netcode

import (
	"crypto/rand"
	"net/netip"
	"time"

	"tendon/net/limit"
)

// The address of a client changes when a router forgets it, or when the client changes its network. The next packet that it
// sends is then found by its sequence number: each key begins at a random one of 40 bits.
const (
	blockBits = 16 // a block of sequence numbers belongs to one connection
	// A packet from another address with a number of some connection is opened if the limit allows: strangerBurst at once, and
	// one more each strangerInterval. Opening one takes about a microsecond.
	strangerBurst    = 64
	strangerInterval = 10 * time.Millisecond / strangerBurst
	// A connection moves movesBurst times at once to an address that is not proven, and once more each moveInterval.
	movesBurst   = 8
	moveInterval = time.Second / 4
	// amplification bounds the bytes that are sent to an address that is not proven, by those that arrived from there. It is
	// that of QUIC (RFC 9000, section 8).
	amplification = 3
	proofInterval = int64(50 * time.Millisecond)
)

// path is the way to a client. A client has proven that it receives packets at an address when it has returned the challenge
// there, or the random number of a keep-alive.
type path struct {
	proven netip.AddrPort
	number [8]byte // that the client has to return
	asked  int64   // when it was sent last
	credit int     // bytes that may be sent to an address that is not proven
	moves  limit.Limiter[time.Duration]
	block  uint64 // of the newest sequence number: see Server.byBlock
}

// find returns the slot of a packet: that of its address, or else that of its sequence number.
func (s *Server) find(from netip.AddrPort, sequence uint64, at int64) (slot int32, ok bool) {
	if slot, ok = s.byAddr[from]; ok {
		return slot, true
	}
	block := sequence >> blockBits
	if slot, ok = s.byBlock[block]; !ok {
		slot, ok = s.byBlock[block-1]
	}
	return slot, ok && s.strangers.Allow(time.Duration(at))
}

// follow records an accepted packet of size bytes. The newest one of a connection moves it to the address of the packet.
func (s *Server) follow(out *Outbox, i int32, from netip.AddrPort, sequence uint64, size int, at int64) {
	c := &s.slots[i]
	if block := c.window.newest >> blockBits; block != c.path.block {
		s.index(i, block)
	}
	if from != c.peer {
		if sequence != c.window.newest || from != c.path.proven && !c.path.moves.Allow(time.Duration(at)) {
			return
		}
		s.counters[Moves]++
		delete(s.byAddr, c.peer)
		s.byAddr[from] = i
		c.peer, c.path.credit, c.path.asked = from, 0, at-proofInterval
		if c.unproven() {
			rand.Read(c.path.number[:]) // never fails
		}
	}
	if c.unproven() {
		c.path.credit += amplification * size
		if at-c.path.asked >= proofInterval {
			c.path.asked = at
			s.keepAlive(out, int(i), at)
		}
	}
}

// unproven reports whether the client has not proven that it receives packets at its present address.
func (c *slot) unproven() bool { return c.peer != c.path.proven }

// prove ends the limit of an address if the client has returned the number that was sent there.
func (c *slot) prove(body []byte) {
	if c.unproven() && [8]byte(body) == c.path.number {
		c.path.proven = c.peer
	}
}

// index assigns a block of sequence numbers to a slot. A block that has a slot keeps it: packets of the other one are then not
// found after a change of its address.
func (s *Server) index(i int32, block uint64) {
	c := &s.slots[i]
	s.unindex(i)
	if _, taken := s.byBlock[block]; !taken {
		s.byBlock[block] = i
	}
	c.path.block = block
}

func (s *Server) unindex(i int32) {
	if block := s.slots[i].path.block; s.byBlock[block] == i {
		delete(s.byBlock, block)
	}
}

// send sends a packet to a client, unless its address is not proven and has received enough.
func (s *Server) send(out *Outbox, i int, k kind, body []byte, at int64) {
	c := &s.slots[i]
	if c.unproven() {
		size := 1 + maxSequenceSize + len(body) + tagSize
		if c.path.credit < size {
			s.counters[Withheld]++
			return
		}
		c.path.credit -= size
	}
	c.channel.send(out, &s.codec, k, body, at)
}

// keepAlive sends a keep-alive. To an address that is not proven, it has the number that the client has to return.
func (s *Server) keepAlive(out *Outbox, slot int, at int64) {
	body := s.codec.keepAlive(uint32(slot), uint32(len(s.slots)))
	if c := &s.slots[slot]; c.unproven() {
		copy(body, c.path.number[:])
	}
	s.send(out, slot, kindKeepAlive, body, at)
}

// Package linktest holds the promises of the two channels as tests that run
// against anything which claims to keep them: net/link over a bad network,
// a simulated network's model of both channels, a loopback.
//
//	linktest.Run(t, func(t *testing.T) linktest.Network { return newLoopback(t) })
package linktest

import (
	"bytes"
	"encoding/binary"
	"testing"

	"tendon/net/wire"
)

// An End is one peer's side of both channels, as [tendon/net/link.Link] has it.
type End interface {
	// SendReliable queues a message of 1 to 65536 bytes, copied. An error
	// means that nothing was queued.
	SendReliable(message []byte) error
	// SendDatagram queues a message for this tick, copied. An error means
	// that nothing was queued.
	SendDatagram(message []byte) error
	// Next returns a received message, valid until the next call, or false.
	Next() (channel wire.Channel, message []byte, ok bool)
}

// A Network is two ends with a way between them, however bad.
type Network interface {
	End(i int) End // 0 or 1
	Step()         // lets one tick pass: what was sent travels
}

const (
	largest  = 64 << 10
	patience = 60 * 60 // ticks in which everything reliable must have arrived
)

// Run holds every promise against networks that open makes, one for each. A
// network that must live in a synctest bubble is run by its own test, which
// ranges over [Promises].
func Run(t *testing.T, open func(t *testing.T) Network) {
	for name, promise := range Promises() {
		t.Run(name, func(t *testing.T) { promise(t, open(t)) })
	}
}

// Promises returns the tests by name. Each wants a network of its own.
func Promises() map[string]func(t *testing.T, n Network) {
	return map[string]func(*testing.T, Network){
		"reliable messages arrive once, whole and in order": reliableOrder,
		"datagrams arrive as they were sent or not at all":  datagramsIntact,
		"what is sent is copied":                            sendsCopy,
		"sizes outside the bounds are refused":              boundsHold,
	}
}

// numbered makes a message whose every byte follows from its number and size.
func numbered(n uint32, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(n*131 + uint32(i)*7 + uint32(size))
	}
	binary.LittleEndian.PutUint32(b, n)
	return b
}

func reliableOrder(t *testing.T, n Network) {
	sizes := []int{4, 200, 1127, 1128, 1129, 20_000, 5, largest, 4000}
	const total = 45
	var sent, got [2]int
	for range patience {
		for i := range 2 {
			for sent[i] < total && n.End(i).SendReliable(numbered(uint32(sent[i]), sizes[sent[i]%len(sizes)])) == nil {
				sent[i]++
			}
		}
		n.Step()
		for i := range 2 {
			for channel, m, ok := n.End(i).Next(); ok; channel, m, ok = n.End(i).Next() {
				want := numbered(uint32(got[i]), sizes[got[i]%len(sizes)])
				if channel != wire.Reliable || got[i] >= total || !bytes.Equal(m, want) {
					t.Fatalf("end %d, message %d: %d bytes on channel %d, want %d", i, got[i], len(m), channel, len(want))
				}
				got[i]++
			}
		}
	}
	if got != [2]int{total, total} {
		t.Errorf("%v messages arrived, want %d each", got, total)
	}
}

func datagramsIntact(t *testing.T, n Network) {
	const total = 300
	sent, got := 0, map[uint32]int{}
	for tick := range total + 300 {
		if tick < total && n.End(0).SendDatagram(numbered(uint32(tick), 4+tick*3)) == nil {
			sent++
		}
		n.Step()
		for channel, m, ok := n.End(1).Next(); ok; channel, m, ok = n.End(1).Next() {
			number := binary.LittleEndian.Uint32(m)
			if channel != wire.Datagram || number >= total || !bytes.Equal(m, numbered(number, 4+int(number)*3)) {
				t.Fatalf("a datagram of %d bytes on channel %d that was not sent", len(m), channel)
			}
			got[number]++
		}
	}
	if sent != total || len(got) < total/2 {
		t.Errorf("%d of %d were accepted, %d arrived", sent, total, len(got))
	}
}

func sendsCopy(t *testing.T, n Network) {
	b := []byte("before")
	if err := n.End(0).SendReliable(b); err != nil {
		t.Fatal(err)
	}
	copy(b, "after!")
	for range 600 {
		n.Step()
		if _, m, ok := n.End(1).Next(); ok {
			if string(m) != "before" {
				t.Errorf("%q arrived, changed by the sender after the call", m)
			}
			return
		}
	}
	t.Error("nothing arrived")
}

func boundsHold(t *testing.T, n Network) {
	e := n.End(0)
	for _, size := range []int{0, largest + 1} {
		if e.SendReliable(make([]byte, size)) == nil {
			t.Errorf("a reliable message of %d bytes was accepted", size)
		}
	}
	for _, size := range []int{0, wire.MaxPart + 1} {
		if e.SendDatagram(make([]byte, size)) == nil {
			t.Errorf("a datagram of %d bytes was accepted", size)
		}
	}
	n.Step()
	if err := e.SendDatagram(make([]byte, wire.MaxPart)); err != nil {
		t.Errorf("the largest datagram: %v", err)
	}
}

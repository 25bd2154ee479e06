package link

import (
	"bytes"
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"tendon/net/wire"
)

// drained is a pair whose received messages stay in the links.
type drained struct{ *pair }

func (d drained) step() { d.pass(false) }

// mostTicks is within how many ticks every reliable message must arrive.
const mostTicks = 60 * 60

// The promises of both channels hold over a network that loses, duplicates and reorders packets.
func TestALinkKeepsThePromisesOfBothChannels(t *testing.T) {
	for name, promise := range map[string]func(*testing.T, drained){
		"reliable messages arrive once, whole and in order": reliableOrder,
		"datagrams arrive as they were sent or not at all":  datagramsIntact,
		"sent messages are copied":                          sendsCopy,
		"sizes outside the bounds are refused":              boundsHold,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPair(t)
				p.loss, p.double, p.jitter = 0.1, 0.1, 30*time.Millisecond
				promise(t, drained{p})
			})
		})
	}
}

// checkable makes a message whose bytes follow from its number and size.
func checkable(n uint32, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(n*131 + uint32(i)*7 + uint32(size))
	}
	binary.LittleEndian.PutUint32(b, n)
	return b
}

func reliableOrder(t *testing.T, n drained) {
	sizes := []int{4, 200, 1079, 1080, 1081, 20_000, 5, MaxMessage, 4000}
	const total = 45
	var sent, got [2]int
	for range mostTicks {
		for i := range 2 {
			for sent[i] < total && n.ends[i].Send(wire.Reliable, checkable(uint32(sent[i]), sizes[sent[i]%len(sizes)])) == nil {
				sent[i]++
			}
		}
		n.step()
		for i := range 2 {
			for channel, m, ok := n.ends[i].Next(); ok; channel, m, ok = n.ends[i].Next() {
				want := checkable(uint32(got[i]), sizes[got[i]%len(sizes)])
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

func datagramsIntact(t *testing.T, n drained) {
	const total = 300
	sent, got := 0, map[uint32]int{}
	for tick := range total + 300 {
		if tick < total && n.ends[0].Send(wire.Datagram, checkable(uint32(tick), 4+tick*3)) == nil {
			sent++
		}
		n.step()
		for channel, m, ok := n.ends[1].Next(); ok; channel, m, ok = n.ends[1].Next() {
			number := binary.LittleEndian.Uint32(m)
			if channel != wire.Datagram || number >= total || !bytes.Equal(m, checkable(number, 4+int(number)*3)) {
				t.Fatalf("a datagram of %d bytes on channel %d that was not sent", len(m), channel)
			}
			got[number]++
		}
	}
	if sent != total || len(got) < total/2 {
		t.Errorf("%d of %d were accepted, %d arrived", sent, total, len(got))
	}
}

func sendsCopy(t *testing.T, n drained) {
	b := []byte("before")
	if err := n.ends[0].Send(wire.Reliable, b); err != nil {
		t.Fatal(err)
	}
	copy(b, "after!")
	for range 600 {
		n.step()
		if _, m, ok := n.ends[1].Next(); ok {
			if string(m) != "before" {
				t.Errorf("%q arrived, changed by the sender after the call", m)
			}
			return
		}
	}
	t.Error("nothing arrived")
}

func boundsHold(t *testing.T, n drained) {
	e := n.ends[0]
	for _, size := range []int{0, MaxMessage + 1} {
		if e.Send(wire.Reliable, make([]byte, size)) == nil {
			t.Errorf("a reliable message of %d bytes was accepted", size)
		}
	}
	for _, size := range []int{0, MaxDatagram + 1} {
		if e.Send(wire.Datagram, make([]byte, size)) == nil {
			t.Errorf("a datagram of %d bytes was accepted", size)
		}
	}
	n.step()
	if err := e.Send(wire.Datagram, make([]byte, MaxDatagram)); err != nil {
		t.Errorf("the MaxMessage datagram: %v", err)
	}
}

package web

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// line is a transport whose packets wait while it is held.
type line struct {
	hold   chan struct{} // closed: packets pass
	sent   chan []byte
	closed chan struct{}
	ended  bool
}

func newLine() *line {
	return &line{hold: make(chan struct{}), sent: make(chan []byte, 1000), closed: make(chan struct{})}
}

func (l *line) send(packet []byte) error {
	select {
	case <-l.hold:
	case <-l.closed:
	}
	l.sent <- append([]byte(nil), packet...)
	return nil
}

func (l *line) close() {
	if !l.ended {
		l.ended = true
		close(l.closed)
	}
}

func remote(host string) netip.AddrPort { return netip.AddrPortFrom(netip.MustParseAddr(host), 5000) }

// A network can hold few sessions to which the server has not answered, and all networks together a quarter of all.
func TestUnprovenSessionsAreLimited(t *testing.T) {
	now := time.Now()
	table := newSessions(400)
	defer table.close()
	var first *session
	for i := range unansweredOfHost + 5 {
		s := table.open(remote("192.0.2.1"), newLine(), now)
		if (s == nil) != (i >= unansweredOfHost) {
			t.Fatalf("session %d of a network: %v", i, s)
		}
		if first == nil {
			first = s
		}
	}
	// An answer of the server makes room for one more.
	if !table.send([]byte{1}, first.address, now) || table.open(remote("192.0.2.1"), newLine(), now) == nil {
		t.Error("an answered session still counts")
	}
	for i := range 200 {
		table.open(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 1), newLine(), now)
	}
	if s := table.figures(); s.Pending != 400/unansweredShare || s.Refused == 0 {
		t.Errorf("%+v", s)
	}
	// One IPv6 network counts as one, whatever its addresses are.
	table = newSessions(400)
	defer table.close()
	for i := range uint64(unansweredOfHost + 1) {
		a := netip.MustParseAddr("2001:db8::").As16()
		binary.BigEndian.PutUint64(a[8:], i+1)
		if s := table.open(netip.AddrPortFrom(netip.AddrFrom16(a), 1), newLine(), now); (s == nil) != (i >= unansweredOfHost) {
			t.Fatalf("session %d of an IPv6 network: %v", i, s)
		}
	}
}

// Sessions end if the server does not send to them, and their places are free again.
func TestSilentSessionsEnd(t *testing.T) {
	now := time.Now()
	table := newSessions(8)
	defer table.close()
	a, b := newLine(), newLine()
	unproven, proven := table.open(remote("192.0.2.1"), a, now), table.open(remote("192.0.2.2"), b, now)
	table.send([]byte{1}, proven.address, now)
	table.sweep(now.Add(unansweredLimit - 1))
	if s := table.figures(); s.Sessions != 2 {
		t.Fatalf("%+v", s)
	}
	table.sweep(now.Add(unansweredLimit))
	if s := table.figures(); s.Sessions != 1 || s.Pending != 0 || s.Expired != 1 || !a.ended || b.ended {
		t.Fatalf("%+v", s)
	}
	table.remove(unproven) // again, as its reader does
	table.sweep(now.Add(silentLimit))
	if s := table.figures(); s.Sessions != 0 || s.Expired != 2 || !b.ended {
		t.Fatalf("%+v", s)
	}
	if table.send([]byte{1}, proven.address, now) {
		t.Error("a packet is sent to a session that ended")
	}
}

// Packets above the rate of a session, of a wrong size, or above the bound of the queue are dropped and counted.
func TestReceivedPacketsAreLimited(t *testing.T) {
	now := time.Now()
	table := newSessions(1000)
	defer table.close()
	s := table.open(remote("192.0.2.1"), newLine(), now)
	for range packetsBurst + 10 {
		table.receive(s, []byte{1}, now)
	}
	table.receive(s, nil, now)
	table.receive(s, make([]byte, MaxPacket+1), now)
	if got := table.figures(); got.Flood != 10 || got.Oversized != 2 || len(table.received) != packetsBurst {
		t.Errorf("%+v, %d in the queue", got, len(table.received))
	}
	for i := range queuedPackets {
		table.receive(s, []byte{1}, now.Add(time.Duration(i+1)*time.Second))
	}
	if got := table.figures(); got.Overflow != packetsBurst || len(table.received) != queuedPackets {
		t.Errorf("%+v, %d in the queue", got, len(table.received))
	}
}

// A packet that has waited for lateAfter is not sent, so that a congested line shows fresh packets when it is free again.
func TestLatePacketsAreNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newSessions(8)
		l := newLine()
		s := table.open(remote("192.0.2.1"), l, time.Now())
		send := func(value byte) { table.send([]byte{value}, s.address, time.Now()) }
		for i := range 10 { // the first one is on the line, the others wait
			send(byte(i))
			synctest.Wait()
			time.Sleep(20 * time.Millisecond)
		}
		close(l.hold)
		synctest.Wait()
		close(l.sent)
		var got []byte
		for p := range l.sent {
			got = append(got, p...)
		}
		// 200 ms have passed. Packet 5 was sent 100 ms ago.
		if want := []byte{0, 6, 7, 8, 9}; string(got) != string(want) || table.figures().Late != 5 {
			t.Errorf("sent %v, want %v; %d late", got, want, table.figures().Late)
		}
		table.close()
	})
}

// The queue of a session has a bound, and keeps the newest packets.
func TestTheQueueOfASessionIsBounded(t *testing.T) {
	var q queue
	q.ready.L = &q.mu
	now := time.Now()
	dropped := 0
	for i := range unsentPackets + 3 {
		n, _ := q.add([]byte{byte(i)}, now)
		dropped += n
	}
	data, late, ok := q.next(nil, func() time.Time { return now })
	if dropped != 3 || !ok || late != 0 || data[0] != 3 || len(q.list) != unsentPackets-1 {
		t.Errorf("dropped %d; the oldest is %v, %d left", dropped, data, len(q.list))
	}
}

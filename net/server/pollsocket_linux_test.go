package server

import (
	"errors"
	"net"
	"testing"
	"time"
)

// Closing the socket ends its reader, for which Run waits.
func TestClosingAPollSocketEndsItsReader(t *testing.T) {
	socket, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := socket.(*pollSocket); !ok {
		t.Fatalf("the socket is a %T: the poller of the runtime would wake a thread at each datagram", socket)
	}
	ended := make(chan error)
	go func() {
		var a arrivals
		ended <- newDatagrams(socket).receive(&a)
	}()
	if err := socket.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("the reader got %v, want %v", err, net.ErrClosed)
	}
	if err := socket.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("closing it again: %v, want %v", err, net.ErrClosed)
	}
	if lost := newDatagrams(socket).send(outboxOf(t, addrPortOf(socket), 2)); lost != 2 {
		t.Errorf("%d of 2 datagrams were lost on a closed socket", lost)
	}
}

// Two of the server's goroutines read one socket: what the one has not taken, the other finds.
func TestAPollSocketCarriesDatagrams(t *testing.T) {
	socket, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	const sent = batchSize + 3
	if lost := newDatagrams(socket).send(outboxOf(t, addrPortOf(socket), sent)); lost != 0 {
		t.Fatalf("%d datagrams were lost", lost)
	}
	var a arrivals
	if err := newDatagrams(socket).receive(&a); err != nil {
		t.Fatal(err)
	}
	got := a.count
	for ; got < sent; got += a.count { // a busy system delivers them later
		if !newDatagrams(socket).poll(&a) {
			t.Fatal("the system's socket cannot be polled")
		}
	}
	if got != sent {
		t.Errorf("%d datagrams of %d arrived", got, sent)
	}
	if newDatagrams(socket).poll(&a); a.count != 0 || !a.pause {
		t.Errorf("an empty socket has %d datagrams, pause %v", a.count, a.pause)
	}
}

// Datagrams have the time of their arrival, not of the call that reads them. A worker reads the socket at each step.
func TestDatagramsHaveTheTimeOfTheirArrival(t *testing.T) {
	socket, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	var a arrivals
	d := newDatagrams(socket)
	for range 2 { // the memory of the first batch is used again
		before := time.Now()
		if lost := d.send(outboxOf(t, addrPortOf(socket), 3)); lost != 0 {
			t.Fatalf("%d datagrams were lost", lost)
		}
		got := 0
		for ; got < 3; got += a.count {
			d.poll(&a)
			for i, age := range a.ages[:a.count] {
				if age <= 0 || age > time.Since(before) || i > 0 && age > a.ages[i-1] {
					t.Errorf("the ages of datagrams that were sent one after the other are %v", a.ages[:a.count])
				}
			}
		}
		if got != 3 {
			t.Fatalf("%d datagrams of 3 arrived", got)
		}
	}
}

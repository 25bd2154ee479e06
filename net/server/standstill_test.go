package server

import (
	"context"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"tendon/net/client"
	"tendon/net/room"
)

// countedSocket counts the packets that it sends.
type countedSocket struct {
	Socket
	sent atomic.Int64
}

func (s *countedSocket) WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error) {
	s.sent.Add(1)
	return s.Socket.WriteToUDPAddrPort(b, to)
}

// stand changes the clock of the server as if the process had stood still for a time.
func (w *world) stand(d time.Duration) {
	c := &w.server.conns.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch = c.epoch.Add(-d)
}

// After a standstill, the server receives packets and computes ticks, but sends no packet until StoodStill has returned. A standstill during
// the call causes another call. A standstill shorter than maxGap is ignored.
func TestNoPacketIsSentAfterAStandstill(t *testing.T) {
	socket := &countedSocket{}
	calls, release := atomic.Int64{}, (chan struct{})(nil)
	inBubble(t, "P3", func(c *Config) {
		socket.Socket, c.Socket = c.Socket, socket
		release = make(chan struct{}) // in the bubble
		c.StoodStill = func(ctx context.Context) {
			calls.Add(1)
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
	}, func(w *world) {
		a, b := w.join(w.mint(w.ticket(1, "r"))), w.join(w.mint(w.ticket(2, "r")))
		w.until("live", 5*time.Second, w.live(a, b))
		blocked := func(want int64) {
			t.Helper()
			before, received := w.tick("r"), w.server.Stats().PacketsIn
			socket.sent.Store(0)
			w.pass(time.Second)
			if n := socket.sent.Load(); n != 0 || calls.Load() != want {
				t.Errorf("%d packets were sent, %d calls, want none and %d", n, calls.Load(), want)
			}
			if ticks, in := w.tick("r")-before, w.server.Stats().PacketsIn-received; ticks < 20 || in < 20 {
				t.Errorf("%d ticks were computed and %d packets received, want at least 20 of each", ticks, in)
			}
		}
		w.stand(time.Duration(maxGap / 2))
		if w.pass(time.Second); calls.Load() != 0 || socket.sent.Load() == 0 {
			t.Fatalf("after a short standstill: %d calls and %d packets, want no call and at least one packet", calls.Load(), socket.sent.Load())
		}
		reconnects := a.Stats().Reconnects + b.Stats().Reconnects
		w.stand(time.Duration(2 * maxGap))
		blocked(1)
		w.stand(time.Duration(2 * maxGap))
		blocked(1)
		release <- struct{}{}
		blocked(2)
		release <- struct{}{}
		socket.sent.Store(0)
		confirmed := w.tick("r")
		w.until("playing", 2*time.Second, func() bool {
			return a.State() == client.Live && b.State() == client.Live && a.Stats().Strategy.Confirmed > confirmed
		})
		if n := a.Stats().Reconnects + b.Stats().Reconnects; n != reconnects {
			t.Errorf("%d reconnects, want none", n-reconnects)
		}
		w.stand(time.Duration(2 * maxGap))
		blocked(3) // Run ends during the call
	})
}

// A room whose OpenRoom began before a standstill is not made, because another server may have it. Its clients try again.
func TestARoomIsNotOpenedAfterAStandstill(t *testing.T) {
	var opens chan struct{}
	var opened, closed atomic.Int64
	inBubble(t, "P1", func(c *Config) {
		opens = make(chan struct{}) // in the bubble
		c.StoodStill = func(context.Context) {}
		c.OpenRoom = func(string, *room.Config) error {
			opened.Add(1)
			<-opens
			return nil
		}
		c.CloseRoom = func(_ string, r *room.Room) {
			if r == nil {
				closed.Add(1)
			}
		}
	}, func(w *world) {
		a := w.join(w.mint(w.ticket(1, "r")))
		w.until("the room is being opened", 2*time.Second, func() bool { return opened.Load() == 1 })
		w.stand(time.Duration(2 * maxGap))
		w.pass(time.Second)
		close(opens)
		w.until("live", 10*time.Second, w.live(a))
		if opened.Load() != 2 || closed.Load() != 1 {
			t.Errorf("%d rooms were opened and %d closed, want 2 and 1", opened.Load(), closed.Load())
		}
	})
}

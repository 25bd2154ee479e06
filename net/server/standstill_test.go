package server

import (
	"context"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"tendon/net/client"
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

// After a standstill, the server receives and computes, but sends no packet until Resumed has returned. A standstill during the call
// causes another call. A shorter one is ignored.
func TestNoPacketIsSentBeforeResumedReturns(t *testing.T) {
	socket := &countedSocket{}
	calls, release := atomic.Int64{}, (chan struct{})(nil)
	inBubble(t, "P3", func(c *Config) {
		socket.Socket, c.Socket = c.Socket, socket
		release = make(chan struct{}) // in the bubble
		c.Resumed = func(ctx context.Context) {
			calls.Add(1)
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
	}, func(w *world) {
		a, b := w.join(w.mint(w.ticket(1, "r"))), w.join(w.mint(w.ticket(2, "r")))
		w.until("live", 5*time.Second, w.live(a, b))
		stand := func(d time.Duration) { w.server.stands.last.Add(-int64(d)) }
		silent := func(want int64) {
			t.Helper()
			before, received := w.tick("r"), w.server.Stats().PacketsIn
			socket.sent.Store(0)
			w.pass(time.Second)
			if n := socket.sent.Load(); n != 0 || calls.Load() != want {
				t.Errorf("%d packets were sent, %d calls, want none and %d", n, calls.Load(), want)
			}
			if ticks, in := w.tick("r")-before, w.server.Stats().PacketsIn-received; ticks < 20 || in < 20 {
				t.Errorf("%d ticks were computed, %d packets received", ticks, in)
			}
		}
		stand(w.server.config.MaxStandstill / 2)
		if w.pass(time.Second); calls.Load() != 0 || socket.sent.Load() == 0 {
			t.Fatalf("%d calls after a short standstill", calls.Load())
		}
		reconnects := a.Stats().Reconnects + b.Stats().Reconnects
		stand(w.server.config.MaxStandstill)
		silent(1)
		stand(w.server.config.MaxStandstill)
		silent(1)
		release <- struct{}{}
		silent(2)
		release <- struct{}{}
		socket.sent.Store(0)
		confirmed := w.tick("r")
		w.until("playing", 2*time.Second, func() bool {
			return a.State() == client.Live && b.State() == client.Live && a.Stats().Strategy.Confirmed > confirmed
		})
		if n := a.Stats().Reconnects + b.Stats().Reconnects; n != reconnects {
			t.Errorf("%d reconnects", n-reconnects)
		}
		stand(w.server.config.MaxStandstill)
		silent(3) // Run ends during the call
	})
}

package simnet

import (
	"sync"
	"time"
)

// realtime runs a Network in the time of package time: real, or virtual in a synctest bubble. One timer is set for the
// next arrival. mu guards all of it and the network.
type realtime struct {
	mu      sync.Mutex
	network *Network
	start   time.Time
	timer   *time.Timer
	closed  bool
}

func newRealtime(c Config) *realtime {
	r := &realtime{network: New(c), start: time.Now()}
	r.network.byLink = true
	r.timer = time.AfterFunc(maxDelay, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.advance()
	})
	return r
}

// advance processes what is due and sets the timer. The lock is held.
func (r *realtime) advance() {
	if r.closed {
		return
	}
	now := time.Since(r.start)
	r.network.RunUntil(now)
	if q := r.network.queue; len(q) > 0 {
		r.timer.Reset(q[0].at - now)
	}
}

// send gives a copy of payload to a direction; overhead is how many of its bytes are not sent. The lock is held.
func (r *realtime) send(d *direction, payload []byte, overhead int) {
	if r.closed {
		return
	}
	r.advance()
	r.network.carry(d, len(payload)-overhead, event{kind: kindDatagram, payload: payload}, verdict{})
	r.advance()
}

func (r *realtime) close() {
	r.closed = true
	r.timer.Stop()
}

//go:build !js

package web

import (
	"errors"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
	"github.com/quic-go/webtransport-go"
)

// quicSession is a WebTransport session of either end.
type quicSession struct {
	session *webtransport.Session
	conn    *quic.Conn // nil for a client, whose connection ends with its session
	outlet  *outlet
}

// send returns when QUIC has sent the packet. The packets behind it wait in the queue of the session, which drops those that are late.
// QUIC would queue 32 of them, for seconds on a line with losses.
func (q *quicSession) send(packet []byte) error {
	q.outlet.reset()
	err := q.session.SendDatagram(packet)
	if tooLarge := (*quic.DatagramTooLargeError)(nil); errors.As(err, &tooLarge) {
		return nil // the path is narrower than QUIC allows: the packet is lost
	}
	if err == nil {
		q.outlet.wait(q.session.Context().Done())
	}
	return err
}

func (q *quicSession) close() {
	_ = q.session.CloseWithError(0, "")
	if q.conn != nil {
		_ = q.conn.CloseWithError(0, "")
	}
}

// discarded is the time after which a datagram is taken for one that QUIC discards without an event.
const discarded = time.Second

// outlet is the trace of a QUIC connection. It has an event for each datagram that QUIC sends.
type outlet struct {
	sent  chan struct{}
	timer *time.Timer
}

func newOutlet() *outlet {
	o := &outlet{sent: make(chan struct{}, 1), timer: time.NewTimer(discarded)}
	o.timer.Stop()
	return o
}

// reset forgets the events of earlier datagrams.
func (o *outlet) reset() {
	select {
	case <-o.sent:
	default:
	}
}

// wait waits until the datagram has been sent, or the session ends.
func (o *outlet) wait(end <-chan struct{}) {
	o.timer.Reset(discarded)
	defer o.timer.Stop()
	select {
	case <-o.sent:
	case <-end:
	case <-o.timer.C:
	}
}

func (o *outlet) AddProducer() qlogwriter.Recorder { return o }
func (o *outlet) SupportsSchemas(string) bool      { return false }
func (o *outlet) Close() error                     { return nil }

// RecordEvent processes an event of QUIC.
func (o *outlet) RecordEvent(e qlogwriter.Event) {
	packet, ok := e.(qlog.PacketSent)
	if !ok {
		return
	}
	for _, f := range packet.Frames {
		if _, ok := f.Frame.(*qlog.DatagramFrame); ok {
			select {
			case o.sent <- struct{}{}:
			default:
			}
		}
	}
}

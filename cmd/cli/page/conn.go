package page

import (
	"context"
	"errors"
)

// Conn is a stream's connection to one page: text messages, both ways. At most two messages wait for sending, and at most
// sixteen received ones; then the connection is not read.
type Conn struct {
	ctx      context.Context // done when the stream ends; waiting messages may still be sent
	messages chan []byte
	free     chan []byte // unused buffers
	out      chan []byte // buffers to send
	wire
}

const (
	inboxMessages = 16
	outMessages   = 2
)

func newConn(ctx context.Context, w wire) *Conn {
	c := &Conn{ctx: ctx, messages: make(chan []byte, inboxMessages), free: make(chan []byte, outMessages), out: make(chan []byte, outMessages), wire: w}
	for range outMessages {
		c.free <- nil
	}
	return c
}

// Messages returns the page's messages in order. The channel is closed when the page is closed.
func (c *Conn) Messages() <-chan []byte { return c.messages }

// Offer sends a message unless the page is behind, and reports whether it did. It never waits, and copies the message. It is
// for messages that the next one replaces: pictures, figures.
func (c *Conn) Offer(message []byte) bool {
	select {
	case b := <-c.free:
		c.out <- append(b[:0], message...)
		return true
	default:
		return false
	}
}

// ErrGone is returned by Send when the page is closed.
var ErrGone = errors.New("page: the page is closed")

// Send sends a message. It waits while the page is behind, at most until the page times out.
func (c *Conn) Send(message []byte) error {
	select {
	case b := <-c.free:
		c.out <- append(b[:0], message...)
		return nil
	case <-c.ctx.Done():
		return ErrGone
	}
}

package page

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Conn is a stream's connection to one page: messages of text, both ways. What is on its way out is bounded by two
// messages, what came in and was not taken yet by sixteen; a page that says more than its stream takes is read no
// further until it was taken.
type Conn struct {
	socket   *websocket.Conn
	ctx      context.Context // done when the stream ends; what is on its way may still be finished
	wire     context.Context // done when the connection is over
	cut      context.CancelFunc
	messages chan []byte
	free     chan []byte // buffers that may be written into
	out      chan []byte // buffers that the writer sends
	timeout  time.Duration
}

const (
	inboxMessages = 16
	outMessages   = 2
	messageBytes  = 16 << 10 // of a page; a longer one ends the stream with code 1009
	pingInterval  = 20 * time.Second
	// closeLimit bounds how long a page may take to say goodbye.
	closeLimit = time.Second
)

// errFull is the reason of a stream that was one too many.
const errFull = "as many pages as this server takes are open: close one"

// Stream makes a handler of a function that talks with a page over a WebSocket. Each page has a call of f on a goroutine
// of its own; its context is done when the page is gone or the server stops. The stream ends when f returns; an error is
// told to the page as the reason, cut to what a close frame takes.
func Stream(f func(ctx context.Context, c *Conn) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, ok := r.Context().Value(serverKey{}).(*Server)
		if !ok {
			panic("page: a Stream was served by something else than a Server, which checks who asks: register it with Server.Handle")
		}
		defer s.open.Add(-1)
		if s.open.Add(1) > int64(s.config.Streams) {
			refuse(w, http.StatusServiceUnavailable, errFull)
			return
		}
		s.streams.Add(1) // before Accept, behind which the http.Server does not wait for it any more
		defer s.streams.Done()
		// Origin was checked by the guard, which is stricter and knows the Config's names.
		socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
		if err != nil {
			return // Accept has answered
		}
		s.converse(socket, f)
	})
}

// converse runs a stream from its first message to its last.
func (s *Server) converse(socket *websocket.Conn, f func(ctx context.Context, c *Conn) error) {
	socket.SetReadLimit(messageBytes)
	wire, cut := context.WithCancel(context.Background())
	ctx, cancel := context.WithCancel(s.ctx)
	c := &Conn{socket: socket, ctx: ctx, wire: wire, cut: cut, messages: make(chan []byte, inboxMessages), timeout: s.http.WriteTimeout,
		free: make(chan []byte, outMessages), out: make(chan []byte, outMessages)}
	for range outMessages {
		c.free <- nil
	}
	var work sync.WaitGroup
	for _, part := range []func(){c.read, c.write, c.ping} {
		work.Go(func() {
			defer cancel()
			part()
		})
	}
	code, why := websocket.StatusNormalClosure, ""
	switch err := f(ctx, c); {
	case s.ctx.Err() != nil:
		code, why = websocket.StatusGoingAway, "the server stops"
	case err != nil:
		code, why = websocket.StatusInternalError, reason(err)
	}
	cancel()
	late := time.AfterFunc(closeLimit, cut)
	c.drain()
	_ = socket.Close(code, why)
	late.Stop()
	cut()
	_ = socket.CloseNow()
	work.Wait()
}

// maxReason is what a close frame has room for beside its code.
const maxReason = 123

// reason is an error as a close frame carries it.
func reason(err error) string {
	text := []rune(err.Error())
	for len(string(text)) > maxReason {
		text = text[:len(text)-1]
	}
	return string(text)
}

// Messages returns the page's messages in their order. It is closed when the page is gone.
func (c *Conn) Messages() <-chan []byte { return c.messages }

// Offer sends a message unless the page is behind; it reports whether it did. It never waits and copies what it keeps,
// so it may be called from a loop that keeps time. It is for what the next message replaces: pictures, figures.
func (c *Conn) Offer(message []byte) bool {
	select {
	case b := <-c.free:
		c.out <- append(b[:0], message...)
		return true
	default:
		return false
	}
}

// ErrGone is returned by Send when the page is gone.
var ErrGone = errors.New("page: the page is gone")

// Send sends a message, waiting while the page is behind, at most until it counts as gone. It is for what must not be
// missed.
func (c *Conn) Send(message []byte) error {
	select {
	case b := <-c.free:
		c.out <- append(b[:0], message...)
		return nil
	case <-c.ctx.Done():
		return ErrGone
	}
}

// read takes what the page says until it is gone. It answers pings and notices the end too.
func (c *Conn) read() {
	defer close(c.messages)
	for {
		kind, message, err := c.socket.Read(c.wire)
		if err != nil {
			c.cut()
			return
		}
		if kind != websocket.MessageText {
			_ = c.socket.Close(websocket.StatusUnsupportedData, "messages are text")
			return
		}
		select {
		case c.messages <- message:
		case <-c.ctx.Done(): // nobody takes it any more; what is waited for is the page's goodbye
		}
	}
}

// write sends what was offered. A page that does not take a message in time is gone.
func (c *Conn) write() {
	for {
		select {
		case b := <-c.out:
			ctx, cancel := context.WithTimeout(c.wire, c.timeout)
			err := c.socket.Write(ctx, websocket.MessageText, b)
			cancel()
			if err != nil {
				c.cut()
				return
			}
			c.free <- b
		case <-c.wire.Done():
			return
		}
	}
}

// drain waits until everything is sent, or cannot be.
func (c *Conn) drain() {
	for range outMessages {
		select {
		case <-c.free:
		case <-c.wire.Done():
			return
		}
	}
}

// ping notices pages that vanished without a word.
func (c *Conn) ping() {
	ticker := time.NewTicker(pingInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			ctx, cancel := context.WithTimeout(c.wire, c.timeout)
			err := c.socket.Ping(ctx)
			cancel()
			if err != nil {
				return
			}
		case <-c.ctx.Done():
			return
		}
	}
}

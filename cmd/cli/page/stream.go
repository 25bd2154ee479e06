//go:build !js

package page

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// wire is the WebSocket of a Conn.
type wire struct {
	socket  *websocket.Conn
	over    context.Context // done when the connection is over
	cut     context.CancelFunc
	timeout time.Duration
}

const (
	messageBytes = 16 << 10 // of a page; a longer one ends the stream with code 1009
	pingInterval = 20 * time.Second
	closeLimit   = time.Second // for a page's close frame
	maxReason    = 123         // bytes of a reason in a close frame
)

// Stream registers a handler that exchanges messages with a page over a WebSocket. Each page has its own call of f on its own
// goroutine. The context is done when the page is closed or the server stops. The stream ends when f returns; an error is
// sent to the page as the reason, truncated to the size of a close frame.
func (s *Server) Stream(path string, f func(ctx context.Context, c *Conn) error) {
	s.Handle(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.open.Add(-1)
		if s.open.Add(1) > int64(s.config.Streams) {
			refuse(w, http.StatusServiceUnavailable, "too many pages of this server are open: close one")
			return
		}
		s.streams.Add(1) // before Accept: then the http.Server no longer waits for it
		defer s.streams.Done()
		// The guard has checked Origin, with the Config's names.
		if socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}); err == nil {
			s.run(socket, f)
		}
	}))
}

func (s *Server) run(socket *websocket.Conn, f func(ctx context.Context, c *Conn) error) {
	socket.SetReadLimit(messageBytes)
	over, cut := context.WithCancel(context.Background())
	ctx, cancel := context.WithCancel(s.ctx)
	c := newConn(ctx, wire{socket: socket, over: over, cut: cut, timeout: s.http.WriteTimeout})
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
		code, why = websocket.StatusGoingAway, "the server is stopping"
	case err != nil:
		code, why = websocket.StatusInternalError, err.Error()
	}
	if len(why) > maxReason {
		why = strings.ToValidUTF8(why[:maxReason], "")
	}
	cancel()
	late := time.AfterFunc(closeLimit, cut)
	for range outMessages { // until all messages are sent, or cannot be
		select {
		case <-c.free:
		case <-over.Done():
		}
	}
	_ = socket.Close(code, why)
	late.Stop()
	cut()
	_ = socket.CloseNow()
	work.Wait()
}

// read receives the page's messages until the page is closed. It also answers pings.
func (c *Conn) read() {
	defer close(c.messages)
	for {
		kind, message, err := c.socket.Read(c.over)
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
		case <-c.ctx.Done(): // discard messages until the close frame
		}
	}
}

// write sends the waiting messages. A page that does not accept a message in time is disconnected.
func (c *Conn) write() {
	for {
		select {
		case b := <-c.out:
			if c.limited(func(ctx context.Context) error { return c.socket.Write(ctx, websocket.MessageText, b) }) != nil {
				c.cut()
				return
			}
			c.free <- b
		case <-c.over.Done():
			return
		}
	}
}

// ping detects pages that are gone without a close frame.
func (c *Conn) ping() {
	ticker := time.NewTicker(pingInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if c.limited(c.socket.Ping) != nil {
				return
			}
		case <-c.ctx.Done():
			return
		}
	}
}

func (c *Conn) limited(f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(c.over, c.timeout)
	defer cancel()
	return f(ctx)
}

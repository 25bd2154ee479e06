package web

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall/js"
)

const receivedPackets = 512 // received packets that wait to be read

// Socket is a session of the browser. It implements Socket of net/client. Packets of the server appear to come from the address
// to which the newest packet was sent.
type Socket struct {
	reaches  func(server netip.AddrPort) bool // nil: every server
	target   Target
	session  js.Value
	shared   js.Value // the bytes of the packet that is sent
	server   atomic.Value
	received chan []byte
	ended    chan struct{} // closed after the end, and after err was set
	end      sync.Once
	err      error
	open     atomic.Bool
	failed   atomic.Bool // err was returned
}

// Dial begins to open a session of the browser, and does not wait for it. It uses WebTransport for a URL of the scheme
// https, and a WebSocket for the schemes ws and wss. The page must have run Script. If the session cannot be opened, reading
// returns an error that wraps ErrDial, and then net.ErrClosed.
func Dial(t Target) (*Socket, error) {
	open := js.Global().Get("tendonOpen")
	if open.Type() != js.TypeFunction {
		return nil, fmt.Errorf("%w: the page has not run the script of net/web", ErrDial)
	}
	s := &Socket{target: t, shared: js.Global().Get("Uint8Array").New(MaxPacket), received: make(chan []byte, receivedPackets), ended: make(chan struct{})}
	hashes := js.Global().Get("Array").New()
	for _, h := range t.Hashes {
		value := js.Global().Get("Uint8Array").New(len(h))
		js.CopyBytesToJS(value, h[:])
		hashes.Call("push", value)
	}
	opened := js.FuncOf(func(js.Value, []js.Value) any { s.open.Store(true); return nil })
	receive := js.FuncOf(func(_ js.Value, args []js.Value) any { s.receive(args[0]); return nil })
	var ended js.Func
	ended = js.FuncOf(func(_ js.Value, args []js.Value) any { // the script calls nothing after it
		s.finish(errors.New(args[0].String()))
		opened.Release()
		receive.Release()
		ended.Release()
		return nil
	})
	s.session = open.Invoke(t.URL, hashes, MaxPacket, opened, receive, ended)
	return s, nil
}

// receive copies a packet of the browser. It drops packets of a wrong size, and those that find the queue full.
func (s *Socket) receive(value js.Value) {
	n := value.Get("length").Int()
	if n == 0 || n > MaxPacket {
		return
	}
	data := make([]byte, n)
	js.CopyBytesToGo(data, value)
	select {
	case s.received <- data:
	default:
	}
}

// finish ends the socket with a reason.
func (s *Socket) finish(reason error) {
	s.end.Do(func() {
		if !s.open.Load() {
			s.err = fmt.Errorf("%w to %s: %w", ErrDial, s.target.URL, reason)
		}
		close(s.ended)
	})
}

// wasOpen reports whether the session is open, or was.
func (s *Socket) wasOpen() bool { return s.open.Load() }

// ReadFromUDPAddrPort waits for the next packet of the server. It returns net.ErrClosed after the end of the session.
func (s *Socket) ReadFromUDPAddrPort(b []byte) (n int, from netip.AddrPort, err error) {
	select {
	case data := <-s.received:
		from, _ = s.server.Load().(netip.AddrPort)
		return copy(b, data), from, nil
	case <-s.ended:
	}
	if s.err != nil && !s.failed.Swap(true) {
		return 0, from, s.err
	}
	return 0, from, net.ErrClosed
}

// WriteToUDPAddrPort sends a packet to the server, whatever its address is. It never waits. After the end of the session it returns
// net.ErrClosed.
func (s *Socket) WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error) {
	select {
	case <-s.ended:
		return 0, net.ErrClosed
	default:
	}
	if old, _ := s.server.Load().(netip.AddrPort); old != to {
		s.server.Store(to)
	}
	if len(b) <= MaxPacket {
		js.CopyBytesToJS(s.shared, b)
		s.session.Call("send", s.shared.Call("slice", 0, len(b))) // the browser keeps the bytes
	}
	return len(b), nil
}

// Close ends the session.
func (s *Socket) Close() error {
	s.session.Call("close")
	s.finish(net.ErrClosed)
	return nil
}

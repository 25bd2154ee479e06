//go:build !js

package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/qlogwriter"
	"github.com/quic-go/webtransport-go"
)

// Socket is the client's end of a session. It implements Socket of net/client. Packets of the server appear to come from the address
// to which the newest packet was sent.
type Socket struct {
	reaches func(server netip.AddrPort) bool // nil: every server
	target  Target
	queue   queue
	server  atomic.Value   // the netip.AddrPort of the newest packet
	opened  chan struct{}  // closed when session or err is set
	session *clientSession // the open session
	err     error          // why none could be opened
	failed  atomic.Bool    // err was returned
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// clientSession is a session with its way of reading.
type clientSession struct {
	transport
	read func() ([]byte, error)
}

// Dial begins to open a session, and does not wait for it. It uses WebTransport for a URL of the scheme https, and a WebSocket
// for the schemes ws and wss. Packets that are sent before the session is open are queued. If it cannot be opened,
// reading returns an error that wraps ErrDial, and then net.ErrClosed.
func Dial(t Target) (*Socket, error) {
	u, err := url.Parse(t.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "ws" && u.Scheme != "wss" {
		return nil, fmt.Errorf("%w: %q is not a URL of the schemes https, ws and wss", ErrDial, t.URL)
	}
	open := openWebSocket
	if u.Scheme == "https" {
		open = openWebTransport
	}
	s := &Socket{target: t, opened: make(chan struct{})}
	s.queue.ready.L = &s.queue.mu
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	s.running.Go(func() { s.run(ctx, open) })
	return s, nil
}

// run opens the session, and sends the packets of the queue until it ends.
func (s *Socket) run(ctx context.Context, open func(context.Context, *Target) (*clientSession, error)) {
	defer s.queue.close()
	opening, cancel := context.WithTimeout(ctx, requestTimeout)
	session, err := open(opening, &s.target)
	cancel()
	if err != nil {
		s.err = fmt.Errorf("%w to %s: %w", ErrDial, s.target.URL, err)
		close(s.opened)
		return
	}
	context.AfterFunc(ctx, session.close)
	defer s.cancel()
	s.session = session
	close(s.opened)
	buffer := make([]byte, 0, MaxPacket)
	for {
		next, _, ok := s.queue.next(buffer, time.Now)
		if !ok || session.send(next) != nil {
			return
		}
	}
}

// tls verifies a server by the hashes, if there are any.
func (t *Target) tls() *tls.Config {
	if len(t.Hashes) == 0 {
		return &tls.Config{}
	}
	return &tls.Config{InsecureSkipVerify: true, VerifyPeerCertificate: func(certificates [][]byte, _ [][]*x509.Certificate) error {
		if len(certificates) == 0 || !slices.ContainsFunc(t.Hashes, func(h Hash) bool {
			sum := sha256.Sum256(certificates[0])
			return bytes.Equal(h[:], sum[:])
		}) {
			return errors.New("the certificate of the server is not that of the invitation")
		}
		return nil
	}}
}

func openWebTransport(ctx context.Context, t *Target) (*clientSession, error) {
	config := t.tls()
	config.NextProtos = []string{http3.NextProtoH3}
	outlet := newOutlet()
	dialer := &webtransport.Transport{TLSClientConfig: config, QUICConfig: &quic.Config{EnableDatagrams: true, EnableStreamResetPartialDelivery: true, MaxIdleTimeout: idleTimeout,
		Tracer: func(context.Context, bool, quic.ConnectionID) qlogwriter.Trace { return outlet }}}
	answer, session, err := dialer.Dial(ctx, t.URL, nil)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answers %s", answer.Status)
	}
	return &clientSession{&quicSession{session: session, outlet: outlet}, func() ([]byte, error) { return session.ReceiveDatagram(session.Context()) }}, nil
}

func openWebSocket(ctx context.Context, t *Target) (*clientSession, error) {
	conn, _, err := websocket.Dial(ctx, t.URL, &websocket.DialOptions{HTTPClient: &http.Client{Transport: &http.Transport{TLSClientConfig: t.tls(), DisableKeepAlives: true}}})
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(MaxPacket)
	return &clientSession{socket{conn}, func() ([]byte, error) {
		_, data, err := conn.Read(context.Background()) // close ends it
		return data, err
	}}, nil
}

// wasOpen reports whether the session is open, or was.
func (s *Socket) wasOpen() bool {
	select {
	case <-s.opened:
		return s.err == nil
	default:
		return false
	}
}

// ReadFromUDPAddrPort waits for the next packet of the server. It returns net.ErrClosed after the end of the session.
func (s *Socket) ReadFromUDPAddrPort(b []byte) (n int, from netip.AddrPort, err error) {
	<-s.opened
	if s.err != nil {
		if s.failed.Swap(true) {
			return 0, from, net.ErrClosed
		}
		return 0, from, s.err
	}
	data, err := s.session.read()
	if err != nil {
		return 0, from, net.ErrClosed
	}
	from, _ = s.server.Load().(netip.AddrPort)
	return copy(b, data), from, nil
}

// WriteToUDPAddrPort queues a packet for the server, whatever its address is. It never waits. After the end of the session it returns
// net.ErrClosed.
func (s *Socket) WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error) {
	if old, _ := s.server.Load().(netip.AddrPort); old != to {
		s.server.Store(to)
	}
	if _, ok := s.queue.add(b, time.Now()); !ok {
		return 0, net.ErrClosed
	}
	return len(b), nil
}

// Close ends the session.
func (s *Socket) Close() error {
	s.queue.close()
	s.cancel()
	s.running.Wait()
	return nil
}

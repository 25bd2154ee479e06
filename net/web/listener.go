//go:build !js

package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
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

	"tendon/net/limit"
)

const (
	defaultSessions    = 4096
	connectionsOfHost  = 64          // TCP and QUIC connections of one network
	handshakesAtOnce   = 16          // QUIC connections whose addresses are not verified, at once
	handshakesInterval = time.Second // time until one more is allowed. Other clients connect a round trip later
	headerLimit        = 8 << 10
	requestTimeout     = 5 * time.Second
	idleTimeout        = 15 * time.Second
	downloadTimeout    = 5 * time.Minute // of a page; a WebSocket has none
	sweepInterval      = time.Second
	socketSendBuffer   = 32 << 10 // of a WebSocket: packets in the buffer of the system can no longer be dropped
)

// ErrConfig is wrapped by every error about a Config.
var ErrConfig = errors.New("web: bad Config")

// Config describes a Listener.
type Config struct {
	// Address is the address of both sockets, as host:port or :port. WebTransport uses UDP, WebSocket and pages use TCP. Required.
	Address      string
	Certificates *Certificates // required
	// Origins are the origins of pages that may connect, such as https://example.com. Pages of the Listener itself and programs
	// that are not browsers may always connect. The only entry "*" allows every page.
	Origins     []string
	Pages       http.Handler // answers the requests for other paths than Path. Optional
	MaxSessions int          // the maximum number of sessions; 0: 4096
}

func (c Config) withDefaults() (Config, error) {
	if c.MaxSessions == 0 {
		c.MaxSessions = defaultSessions
	}
	if c.Pages == nil {
		c.Pages = http.NotFoundHandler()
	}
	switch {
	case c.Address == "":
		return c, fmt.Errorf("%w: Address is empty: name a port to listen on, such as :7778", ErrConfig)
	case c.Certificates == nil:
		return c, fmt.Errorf("%w: Certificates is nil: use SelfSigned or LoadCertificates", ErrConfig)
	case c.MaxSessions < 0:
		return c, fmt.Errorf("%w: MaxSessions is %d, want at least 1", ErrConfig, c.MaxSessions)
	}
	for _, o := range c.Origins {
		if u, err := url.Parse(o); o != "*" && (err != nil || u.Scheme == "" || u.Host == "" || u.Path != "") {
			return c, fmt.Errorf("%w: the origin %q is not of the form https://host or https://host:port", ErrConfig, o)
		}
	}
	return c, nil
}

// Listener accepts sessions. It implements Socket of net/server: several goroutines may use it.
type Listener struct {
	config   Config
	table    *sessions
	hosts    hosts
	udp      net.PacketConn
	quic     *quic.Transport
	incoming *quic.EarlyListener
	wt       *webtransport.Server
	http     *http.Server
	running  sync.WaitGroup
	closing  sync.Once
}

// Listen opens both sockets and accepts sessions until Close.
func Listen(c Config) (*Listener, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	tcp, udp, err := openSockets(c.Address, net.ListenPacket)
	if err != nil {
		return nil, err
	}
	return serve(c, tcp, udp)
}

// openSockets opens sockets of TCP and UDP with the same port. With port 0, the system chooses a free TCP port. If its UDP port is taken,
// others are tried, ten in all.
func openSockets(address string, listenUDP func(network, address string) (net.PacketConn, error)) (net.Listener, net.PacketConn, error) {
	for tries := 10; ; tries-- {
		tcp, err := net.Listen("tcp", address)
		if err != nil {
			return nil, nil, fmt.Errorf("web: listening on %s for pages: %w; give host:port with a port that no other program uses", address, err)
		}
		udp, err := listenUDP("udp", tcp.Addr().String())
		if err == nil {
			return tcp, udp, nil
		}
		tcp.Close()
		if _, port, _ := net.SplitHostPort(address); port != "0" && port != "" || tries == 1 {
			return nil, nil, fmt.Errorf("web: listening on %s for WebTransport: %w; choose another port or stop the program that uses it", tcp.Addr(), err)
		}
	}
}

// serve accepts sessions on two sockets, which it closes after an error.
func serve(c Config, tcp net.Listener, udp net.PacketConn) (*Listener, error) {
	l := &Listener{config: c, table: newSessions(c.MaxSessions), hosts: hosts{max: 2 * c.MaxSessions, of: map[netip.Prefix]int{}}, udp: udp}
	if err := l.serveQUIC(); err != nil {
		tcp.Close()
		udp.Close()
		return nil, err
	}
	l.serveHTTP(tcp)
	l.running.Go(l.sweep)
	return l, nil
}

// serveQUIC starts WebTransport.
func (l *Listener) serveQUIC() (err error) {
	fast := limit.New(handshakesInterval, handshakesAtOnce)
	var mu sync.Mutex // of fast
	start := time.Now()
	l.quic = &quic.Transport{Conn: l.udp,
		VerifySourceAddress: func(net.Addr) bool {
			mu.Lock()
			defer mu.Unlock()
			return !fast.Allow(time.Since(start))
		},
		ConnContext: func(ctx context.Context, info *quic.ClientInfo) (context.Context, error) {
			release, ok := l.hosts.admit(addrPort(info.RemoteAddr).Addr())
			if !ok {
				return nil, errors.New("web: too many connections")
			}
			context.AfterFunc(ctx, release)
			return context.WithValue(ctx, stateKey{}, &state{outlet: newOutlet()}), nil
		}}
	h3 := &http3.Server{Handler: http.HandlerFunc(l.upgradeQUIC), MaxHeaderBytes: headerLimit, Logger: slog.New(slog.DiscardHandler),
		ConnContext: func(ctx context.Context, conn *quic.Conn) context.Context {
			s := stateOf(conn)
			s.conn = conn
			return context.WithValue(ctx, stateKey{}, s)
		}}
	// Streams are not used. Safari refuses sessions that allow none.
	l.wt = &webtransport.Server{H3: h3, CheckOrigin: l.allows, Config: &webtransport.Config{MaxIncomingStreams: 1, MaxIncomingUniStreams: 1, MaxIncomingData: 1 << 10}}
	webtransport.ConfigureHTTP3Server(h3)
	l.incoming, err = l.quic.ListenEarly(http3.ConfigureTLSConfig(&tls.Config{GetCertificate: l.config.Certificates.Get, MinVersion: tls.VersionTLS13}), &quic.Config{
		HandshakeIdleTimeout: requestTimeout, MaxIdleTimeout: idleTimeout, EnableDatagrams: true, EnableStreamResetPartialDelivery: true,
		Tracer: func(ctx context.Context, _ bool, _ quic.ConnectionID) qlogwriter.Trace {
			return ctx.Value(stateKey{}).(*state).outlet
		},
		MaxIncomingStreams: 8, MaxIncomingUniStreams: 8,
		InitialStreamReceiveWindow: 16 << 10, MaxStreamReceiveWindow: 32 << 10, InitialConnectionReceiveWindow: 32 << 10, MaxConnectionReceiveWindow: 64 << 10})
	if err != nil {
		return fmt.Errorf("web: WebTransport: %w", err)
	}
	l.running.Go(func() {
		for {
			conn, err := l.incoming.Accept(context.Background())
			if err != nil {
				return
			}
			l.running.Go(func() { l.connection(conn) })
		}
	})
	return nil
}

// state is that of a QUIC connection. It is a value of the connection's context.
type state struct {
	conn   *quic.Conn
	outlet *outlet
	used   atomic.Bool // a session was requested
}

type stateKey struct{}

func stateOf(conn *quic.Conn) *state { return conn.Context().Value(stateKey{}).(*state) }

// connection serves a QUIC connection. One without a session is closed.
func (l *Listener) connection(conn *quic.Conn) {
	timer := time.AfterFunc(requestTimeout, func() {
		if !stateOf(conn).used.Load() {
			_ = conn.CloseWithError(0, "no session")
		}
	})
	defer timer.Stop()
	_ = l.wt.ServeQUICConn(conn) // the reason why a connection ended is not used
}

// upgradeQUIC accepts a WebTransport session, and reads its datagrams until it ends.
func (l *Listener) upgradeQUIC(w http.ResponseWriter, r *http.Request) {
	of, ok := r.Context().Value(stateKey{}).(*state)
	if !ok || r.URL.Path != Path || r.Method != http.MethodConnect {
		http.NotFound(w, r)
		return
	}
	if of.used.Swap(true) { // a page that wants two sessions opens two connections
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	ws, err := l.wt.Upgrade(w, r)
	if err != nil {
		w.WriteHeader(http.StatusForbidden)
		_ = of.conn.CloseWithError(0, "refused")
		return
	}
	transport := &quicSession{ws, of.conn, of.outlet}
	s := l.table.open(addrPort(of.conn.RemoteAddr()), transport, time.Now())
	if s == nil {
		transport.close()
		return
	}
	l.running.Go(func() {
		defer l.table.remove(s)
		for {
			data, err := ws.ReceiveDatagram(ws.Context())
			if err != nil {
				return
			}
			l.table.receive(s, data, time.Now())
		}
	})
}

// serveHTTP starts WebSocket and pages.
func (l *Listener) serveHTTP(tcp net.Listener) {
	l.http = &http.Server{Handler: http.HandlerFunc(l.serve), ReadTimeout: requestTimeout, WriteTimeout: downloadTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: headerLimit,
		ErrorLog: log.New(io.Discard, "", 0)}
	var listener net.Listener = &guarded{tcp, &l.hosts}
	if !l.Plain() {
		// WebSockets need HTTP/1.1.
		listener = tls.NewListener(listener, &tls.Config{GetCertificate: l.config.Certificates.Get, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
	}
	l.running.Go(func() { _ = l.http.Serve(listener) }) // it returns after Close
}

// Plain reports whether pages and WebSockets are served without TLS. So browsers on this host accept them without a trusted certificate.
func (l *Listener) Plain() bool {
	return l.config.Certificates.dir != "" && addrPort(l.udp.LocalAddr()).Addr().IsLoopback()
}

// serve accepts a WebSocket, and reads its messages until it ends. Other requests are those of pages.
func (l *Listener) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != Path {
		l.config.Pages.ServeHTTP(w, r)
		return
	}
	if !l.allows(r) {
		http.Error(w, "pages of this origin may not connect", http.StatusForbidden)
		return
	}
	remote, _ := netip.ParseAddrPort(r.RemoteAddr)                                          // the zero address counts as a network, too
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // allows has verified the origin
	if err != nil {
		return
	}
	conn.SetReadLimit(MaxPacket)
	s := l.table.open(remote, socket{conn}, time.Now())
	if s == nil {
		_ = conn.Close(websocket.StatusTryAgainLater, "full")
		return
	}
	l.table.count(func(stats *Stats) { stats.Sockets++ })
	defer l.table.remove(s)
	for {
		kind, data, err := conn.Read(context.Background()) // close ends it
		if err != nil || kind != websocket.MessageBinary {
			return
		}
		l.table.receive(s, data, time.Now())
	}
}

// socket is a WebSocket.
type socket struct{ *websocket.Conn }

func (s socket) send(packet []byte) error {
	return s.Write(context.Background(), websocket.MessageBinary, packet) // close ends it
}

func (s socket) close() { _ = s.CloseNow() }

// allows reports whether a page of the request's origin may connect.
func (l *Listener) allows(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	u, err := url.Parse(origin)
	return origin == "" || slices.Contains(l.config.Origins, "*") || slices.Contains(l.config.Origins, origin) || err == nil && u.Host == r.Host
}

// sweep closes idle sessions until the listener is closed.
func (l *Listener) sweep() {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			l.table.sweep(now)
		case <-l.table.done:
			return
		}
	}
}

// ReadFromUDPAddrPort waits for the next packet of a session. It returns net.ErrClosed after Close.
func (l *Listener) ReadFromUDPAddrPort(b []byte) (n int, from netip.AddrPort, err error) {
	select {
	case p := <-l.table.received:
		return copy(b, p.data), p.from, nil
	case <-l.table.done:
		return 0, netip.AddrPort{}, net.ErrClosed
	}
}

// WriteToUDPAddrPort queues a packet for a session. It never waits. A packet for a session that has ended is lost.
func (l *Listener) WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error) {
	if !l.table.send(b, to, time.Now()) {
		return 0, net.ErrClosed
	}
	return len(b), nil
}

// Serves reports whether an address is that of a session, open or ended.
func (l *Listener) Serves(a netip.AddrPort) bool { return Prefix.Contains(a.Addr()) }

// LocalAddr returns the address of the UDP socket. The TCP socket has the same address and port.
func (l *Listener) LocalAddr() net.Addr { return l.udp.LocalAddr() }

// Remote returns the address of the client of a session.
func (l *Listener) Remote(session netip.AddrPort) (remote netip.AddrPort, ok bool) {
	l.table.mu.RLock()
	defer l.table.mu.RUnlock()
	if s := l.table.of[session]; s != nil {
		return s.remote, true
	}
	return netip.AddrPort{}, false
}

// Stats returns the figures of the sessions.
func (l *Listener) Stats() Stats { return l.table.figures() }

// Close ends all sessions and closes both sockets. A second call does nothing.
func (l *Listener) Close() (err error) {
	l.closing.Do(func() { err = l.close() })
	return err
}

func (l *Listener) close() error {
	l.table.close()
	err := errors.Join(l.http.Close(), l.wt.Close(), l.incoming.Close(), l.quic.Close(), l.udp.Close())
	l.running.Wait()
	return err
}

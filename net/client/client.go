package client

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/link"
	"tendon/net/netcode"
	"tendon/net/session"
	"tendon/systems"
)

// Client is a Core with a UDP socket and a clock: a whole client in three calls, SetInput, Frame and View.
//
// All work is done in Frame, except that one goroutine reads the socket. After a lost connection the client reconnects from
// a new socket with the newest reconnect token. One goroutine must call the methods. Receive and Lost of the embedded Core
// must not be called.
type Client struct {
	*Core
	config DialConfig
	epoch  time.Time // of systems.Time
	now    time.Time // of the running Frame

	netcode  netcode.Client
	link     *link.Link
	reader   *socketReader // nil without a connection
	received packets       // a spare buffer for reader
	out      netcode.Outbox
	emit     func([]byte) // seals a packet, bound once
	tokens   [][]byte     // not used for a connection yet, in the order in which they are presented
	present  []byte       // the token of the present connection, or of the last one
	unstored bool         // StoreTokens has not received it
	accepted bool         // the server accepted the present connection
	everLive bool
	closed   bool
}

// DialConfig describes a client with a UDP socket.
type DialConfig struct {
	// Config describes the client. Its Dial must be nil, and its ReceiveToken is replaced.
	Config
	// Token is the connect token that a backend, or the token verb, made for this client, of netcode.TokenSize bytes. It
	// contains the address of the server. Required.
	Token []byte
	Spare [][]byte // further tokens of the same player. They are presented in this order after Token has failed. Optional
	// StoreTokens receives all unused tokens, in the order in which the next process of this client is to present them.
	// Frame calls it when the server has sent new ones, and when one was used, before it sends any packet. Optional.
	StoreTokens func(tokens [][]byte)
	// Listen opens the socket of one connection. Optional: the default is a UDP socket of the system on any port.
	Listen func() (Socket, error)
}

// Errors of a connection. Those that end a client can be shown to its player.
var (
	// ErrToken ends a client whose token is malformed, or whose tokens have all expired.
	ErrToken = errors.New("client: the connect token is malformed or has expired: get a new one")
	// ErrFull ends a client if the server has no place for it.
	ErrFull = errors.New("client: the server is full or shutting down: try again later")
	// ErrSilent ends a connection on which nothing arrived for the timeout of the token.
	ErrSilent = errors.New("client: the server does not answer")
	// ErrDropped ends a connection that the server closed without a reason.
	ErrDropped = errors.New("client: the server closed the connection")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("client: closed")
)

const tokensKept = 4 // as many as the server sends at once

// Dial returns a client that begins to connect in its first Frame.
func Dial(c DialConfig) (*Client, error) {
	if c.Config.Dial != nil {
		return nil, fmt.Errorf("%w: Dial is set: leave it to the Client, or use NewCore", ErrConfig)
	}
	if c.Listen == nil {
		c.Listen = func() (Socket, error) { return net.ListenUDP("udp", nil) }
	}
	k := &Client{config: c}
	for _, token := range append([][]byte{c.Token}, c.Spare...) {
		if _, err := netcode.ParseConnectToken(token); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrToken, err)
		}
		k.tokens = append(k.tokens, bytes.Clone(token))
	}
	k.emit = func(packet []byte) { _ = k.netcode.Send(&k.out, packet, k.now) } // Flush is called only while it is connected
	c.Config.Dial, c.ReceiveToken = k.connect, k.keepToken
	c.elapsed = func() systems.Time { return systems.Time(time.Since(k.now)) }
	var err error
	k.Core, err = NewCore(c.Config)
	return k, err
}

// connect begins a connection with one of the tokens.
func (k *Client) connect() (session.Transport, error) {
	k.hangUp()
	token := k.nextToken()
	if token == nil {
		return nil, ErrToken
	}
	socket, err := k.config.Listen()
	if err != nil {
		return nil, fmt.Errorf("client: no socket: %w", err)
	}
	if err := k.netcode.Connect(token, k.now); err != nil {
		_ = socket.Close()
		return nil, err
	}
	k.link, k.reader, k.accepted, k.present = link.New(), readSocket(socket), false, token
	return k.link, nil
}

// nextToken returns the token of the next attempt and moves it behind the others. Without any it returns the last one that
// was used, which a restarted server accepts. It returns nil if none is valid any more.
func (k *Client) nextToken() []byte {
	for range len(k.tokens) {
		token := k.tokens[0]
		k.tokens = append(slices.Delete(k.tokens, 0, 1), token)
		if k.valid(token) {
			return token
		}
	}
	if len(k.tokens) == 0 && k.valid(k.present) {
		return k.present
	}
	return nil
}

func (k *Client) valid(token []byte) bool {
	t, err := netcode.ParseConnectToken(token)
	return err == nil && uint64(max(k.now.Unix(), 0)) < t.Expires
}

// hangUp closes the connection without a message to the server, which keeps the seat for a client that comes back.
func (k *Client) hangUp() {
	if k.reader == nil {
		return
	}
	k.write()
	k.reader.close()
	k.reader, k.link = nil, nil
}

// Frame processes the packets that arrived, connects if necessary, computes the ticks that are due and sends messages. Call
// it once per frame of the display, at least ten times a second. The error is that of Err.
func (k *Client) Frame(now time.Time) error {
	if k.closed {
		return ErrClosed
	}
	k.now = now
	if k.epoch.IsZero() {
		k.epoch = now
	}
	k.receive()
	k.watchConnection()
	err := k.Core.Frame(k.at(now))
	if k.unstored {
		k.storeTokens()
	}
	k.send()
	return err
}

// at converts a moment to a time of the core. A moment after the start of the Frame, from the reading goroutine, becomes
// that start.
func (k *Client) at(t time.Time) systems.Time {
	return systems.Time(min(t.Sub(k.epoch), k.now.Sub(k.epoch)))
}

func (k *Client) receive() {
	if k.reader == nil {
		return
	}
	got := k.reader.swap(k.received)
	start := 0
	for i := range got.list {
		a := &got.list[i]
		image.SectionOpen.Enter(k.config.Observer)
		payload := k.netcode.Receive(got.bytes[start:a.end], a.from, a.at)
		good := len(payload) > 0 && k.link.Receive(payload) == nil
		image.SectionOpen.Leave(k.config.Observer)
		start = a.end
		if !good {
			continue
		}
		for ch, message, ok := k.link.Next(); ok; ch, message, ok = k.link.Next() {
			k.Core.Receive(ch, message, k.at(a.at))
		}
	}
	k.received = got
}

func (k *Client) watchConnection() {
	if k.reader == nil {
		return
	}
	k.netcode.Update(&k.out, k.now)
	state := k.netcode.State()
	if state == netcode.StateConnected && !k.accepted {
		k.accepted = true
		k.tokens = slices.DeleteFunc(k.tokens, func(t []byte) bool { return bytes.Equal(t, k.present) })
		k.storeTokens()
	}
	switch {
	case k.link.Err() != nil:
		k.lose(k.link.Err())
	case state > netcode.StateDisconnected:
	case state == netcode.StateDisconnected:
		k.lose(ErrDropped)
	case state == netcode.StateDenied && !k.everLive:
		k.Core.end(ErrFull)
	case state == netcode.StateDenied:
		k.lose(ErrFull)
	default:
		k.lose(fmt.Errorf("%w (%v)", ErrSilent, state))
	}
	k.everLive = k.everLive || k.Core.State() == Live
}

// lose closes the connection and reports that to the core, which reconnects.
func (k *Client) lose(why error) {
	k.hangUp()
	k.Core.Lost(why, k.at(k.now))
}

// keepToken keeps a reconnect token, and drops the oldest.
func (k *Client) keepToken(token []byte) {
	k.unstored = true
	k.tokens = slices.Insert(k.tokens, 0, bytes.Clone(token))
	k.tokens = k.tokens[:min(len(k.tokens), tokensKept)]
}

func (k *Client) storeTokens() {
	k.unstored = false
	if k.config.StoreTokens != nil {
		k.config.StoreTokens(k.tokens)
	}
}

func (k *Client) send() {
	if k.reader == nil {
		return
	}
	image.SectionSend.Enter(k.config.Observer)
	defer image.SectionSend.Leave(k.config.Observer)
	k.netcode.Update(&k.out, k.now)
	if k.netcode.State() == netcode.StateConnected {
		k.link.Flush(k.now.Sub(k.epoch), k.emit)
	}
	k.write()
}

func (k *Client) write() {
	for i := range k.out.Len() {
		to, packet := k.out.At(i)
		_, _ = k.reader.socket.WriteToUDPAddrPort(packet, to)
	}
	k.out.Reset()
}

// Close leaves the match, sends that to the server, and releases the socket and its goroutine.
func (k *Client) Close() {
	if k.closed {
		return
	}
	k.closed = true
	k.Core.Leave()
	k.send()
	k.netcode.Disconnect(&k.out, k.now)
	k.hangUp()
}

// View updates the view to a moment and returns it. Before there is a state the view is empty.
func (k *Client) View(now time.Time) *ecs.View { return k.Core.View(now.Sub(k.epoch)) }

// Socket is a UDP socket. *net.UDPConn and the sockets of net/simnet implement it.
type Socket interface {
	ReadFromUDPAddrPort(b []byte) (n int, from netip.AddrPort, err error)
	WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error)
	Close() error
}

// socketReader is a socket with the goroutine that reads it. Packets are kept, up to readerBytes, until the next Frame.
// Empty packets are dropped.
type socketReader struct {
	socket Socket
	closed sync.WaitGroup

	mu      sync.Mutex // held for a copy of one packet, or for a swap
	packets packets
}

type packets struct {
	list  []arrival
	bytes []byte
}

type arrival struct {
	at   time.Time
	from netip.AddrPort
	end  int // of its bytes
}

const (
	readerBytes = 1 << 20               // several seconds of the default budget of a link, 256 KB per second
	arrivalSize = 64                    // memory of an arrival, which counts against readerBytes
	packetLimit = 2048                  // larger than a valid packet, so that oversized packets are recognized
	readPause   = 10 * time.Millisecond // after an error of the socket
)

func readSocket(s Socket) *socketReader {
	m := &socketReader{socket: s}
	m.closed.Go(m.read)
	return m
}

func (m *socketReader) read() {
	var buffer [packetLimit]byte
	for {
		n, from, err := m.socket.ReadFromUDPAddrPort(buffer[:])
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // such as a server that is not started yet; a timeout ends the connection
			time.Sleep(readPause)
			continue
		}
		m.add(buffer[:n], from)
	}
}

func (m *socketReader) add(packet []byte, from netip.AddrPort) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := &m.packets
	if len(packet) > 0 && len(a.bytes)+len(packet)+arrivalSize*(len(a.list)+1) <= readerBytes {
		a.bytes = append(a.bytes, packet...)
		a.list = append(a.list, arrival{at: time.Now(), from: from, end: len(a.bytes)})
	}
}

// swap returns the received packets and reuses another buffer for the next ones.
func (m *socketReader) swap(buffer packets) (received packets) {
	buffer.list, buffer.bytes = buffer.list[:0], buffer.bytes[:0]
	m.mu.Lock()
	defer m.mu.Unlock()
	received, m.packets = m.packets, buffer
	return received
}

func (m *socketReader) close() {
	_ = m.socket.Close() // a socket that cannot be closed is closed
	m.closed.Wait()
}

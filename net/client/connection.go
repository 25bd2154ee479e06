package client

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"tendon/net/link"
	"tendon/net/netcode"
)

// connection is one connection to the server, with its socket.
type connection struct {
	netcode  netcode.Client
	link     *link.Link
	reader   *socketReader
	out      netcode.Outbox
	emit     func([]byte) // seals a packet of the link, bound once
	now      time.Time    // of the running Frame
	used     bool         // the core has a session on it
	broken   bool         // the socket refused a packet
	accepted uint64       // packets that netcode accepted

	// quiet is how long it has accepted none. The time between two Frames adds longestPause at most, because packets that
	// arrived while this process was suspended are read after it.
	quiet time.Duration
}

const longestPause = patience / 2

func newConnection(socket Socket, now time.Time) *connection {
	c := &connection{link: link.New(), reader: readSocket(socket), now: now}
	if s, ok := socket.(interface{ MaxPacket() int }); ok {
		c.link.LimitPackets(s.MaxPacket() - (netcode.MaxPacket - netcode.MaxPayload))
	}
	c.emit = func(packet []byte) { _ = c.netcode.Send(&c.out, packet, c.now) } // it is called only while netcode is connected
	return c
}

// listen advances the time and measures how long nothing has arrived. It is called once per Frame, after the packets are read.
func (c *connection) listen(now time.Time) {
	counts := c.netcode.Counters()
	accepted := counts[netcode.Payloads] + counts[netcode.KeepAlives] + counts[netcode.Connects]
	c.quiet += min(now.Sub(c.now), longestPause)
	if c.now = now; accepted != c.accepted {
		c.accepted, c.quiet = accepted, 0
	}
}

// send sends the packets that are due. The time of the link begins at epoch.
func (c *connection) send(epoch time.Time) {
	c.netcode.Update(&c.out, c.now)
	if c.netcode.State() == netcode.StateConnected {
		c.link.Flush(c.now.Sub(epoch), c.emit)
	}
	c.write()
}

func (c *connection) write() {
	for i := range c.out.Len() {
		to, packet := c.out.At(i)
		if _, err := c.reader.socket.WriteToUDPAddrPort(packet, to); err != nil {
			c.broken = true
		}
	}
	c.out.Reset()
}

// reaches reports whether packets can be sent to a server.
func (c *connection) reaches(server netip.AddrPort) bool {
	s, ok := c.reader.socket.(interface{ Reaches(netip.AddrPort) bool })
	return !ok || s.Reaches(server)
}

// close closes the socket without a message to the server, which keeps the seat for a client that comes back.
func (c *connection) close() {
	c.write()
	c.reader.close()
}

// Socket is a UDP socket. *net.UDPConn and the sockets of net/simnet implement it. A socket that does not carry packets of
// netcode.MaxPacket bytes has a method MaxPacket() int, which returns the size of the largest one, 1177 bytes or more. The server
// sends no larger packet to this client. A socket that does not reach every
// server has a method Reaches(server netip.AddrPort) bool.
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

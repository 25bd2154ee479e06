package client

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Socket is a UDP socket. *net.UDPConn and the sockets of net/simnet implement it.
type Socket interface {
	ReadFromUDPAddrPort(b []byte) (n int, from netip.AddrPort, err error)
	WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error)
	Close() error
}

// socketReader is a socket with the goroutine that reads it. Packets are kept, up to readerBytes, until the next Frame.
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
	if len(a.bytes)+len(packet) <= readerBytes {
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

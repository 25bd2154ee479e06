package client

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Socket is what a client needs of a UDP socket. *net.UDPConn is one, and so are the sockets of net/simnet.
type Socket interface {
	ReadFromUDPAddrPort(b []byte) (n int, from netip.AddrPort, err error)
	WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error)
	Close() error
}

// mailbox is a socket with the goroutine that reads it. What arrives is kept, up to mailboxBytes, until the client's
// Frame takes it; what is above that is lost.
type mailbox struct {
	socket Socket
	closed sync.WaitGroup

	mu      sync.Mutex // held for a copy of one packet, or for a swap
	filling arrived
	lost    uint64
}

// arrived is one side of a mailbox: packets one behind the other.
type arrived struct {
	list  []arrival
	bytes []byte
}

type arrival struct {
	at   time.Time
	from netip.AddrPort
	end  int // of its bytes
}

const (
	// mailboxBytes is a second of the fastest server there is: link's largest budget is 16 MB a second, its default 256 KB.
	mailboxBytes = 1 << 20
	// packetLimit is above what a socket can deliver in one piece, so that oversized packets are seen to be.
	packetLimit = 2048
	// readPause follows an error of the socket, so that a broken one costs no core.
	readPause = 10 * time.Millisecond
)

func newMailbox(s Socket) *mailbox {
	m := &mailbox{socket: s}
	m.closed.Add(1)
	go m.read()
	return m
}

func (m *mailbox) read() {
	defer m.closed.Done()
	var buffer [packetLimit]byte
	for {
		n, from, err := m.socket.ReadFromUDPAddrPort(buffer[:])
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // such as a server that is not there yet; silence will tell
			time.Sleep(readPause)
			continue
		}
		m.file(buffer[:n], from)
	}
}

func (m *mailbox) file(packet []byte, from netip.AddrPort) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := &m.filling
	if len(a.bytes)+len(packet) > mailboxBytes {
		m.lost++
		return
	}
	a.bytes = append(a.bytes, packet...)
	a.list = append(a.list, arrival{at: time.Now(), from: from, end: len(a.bytes)})
}

// take swaps the filled side for an emptied one.
func (m *mailbox) take(emptied arrived) (filled arrived) {
	emptied.list, emptied.bytes = emptied.list[:0], emptied.bytes[:0]
	m.mu.Lock()
	defer m.mu.Unlock()
	filled, m.filling = m.filling, emptied
	return filled
}

// close closes the socket and waits for the goroutine.
func (m *mailbox) close() {
	_ = m.socket.Close() // a socket that cannot be closed is closed
	m.closed.Wait()
}

// listenUDP opens a socket on any port.
func listenUDP() (Socket, error) {
	conn, err := net.ListenUDP("udp", nil)
	if err != nil {
		return nil, err
	}
	return conn, nil
}

//go:build linux

package chaos

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
)

// proxy forwards the TCP connections of one address to another one. In a direction that is cut, bytes wait, as in a network that
// loses all packets: TCP repeats them when the network works again.
type proxy struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	wake  *sync.Cond
	cut   [2]bool // forward, back
	conns map[net.Conn]bool
}

// The directions of a proxy.
const (
	forward = iota
	back
)

func newProxy(t testing.TB, from, to int) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", from))
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, to: fmt.Sprintf("127.0.0.1:%d", to), conns: map[net.Conn]bool{}}
	p.wake = sync.NewCond(&p.mu)
	go p.run()
	t.Cleanup(func() {
		_ = l.Close()
		p.set(false, false)
		p.reset()
	})
	return p
}

func (p *proxy) run() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serve(c)
	}
}

// serve forwards a connection. While a direction is cut no connection can be made.
func (p *proxy) serve(c net.Conn) {
	p.await(forward)
	p.await(back)
	s, err := net.Dial("tcp", p.to)
	if err != nil {
		_ = c.Close()
		return
	}
	p.mu.Lock()
	p.conns[c], p.conns[s] = true, true
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { p.copy(s, c, forward) })
	both.Go(func() { p.copy(c, s, back) })
	both.Wait()
	p.mu.Lock()
	delete(p.conns, c)
	delete(p.conns, s)
	p.mu.Unlock()
}

// copy forwards one direction of a connection. Its end ends the other direction too.
func (p *proxy) copy(to, from net.Conn, direction int) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		p.await(direction)
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// await waits until a direction is not cut.
func (p *proxy) await(direction int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.cut[direction] {
		p.wake.Wait()
	}
}

// set cuts directions, or heals them.
func (p *proxy) set(forward, back bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = [2]bool{forward, back}
	p.wake.Broadcast()
}

// reset ends all connections.
func (p *proxy) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// A cut direction delivers its bytes after it has healed, the other direction works meanwhile.
func TestTheProxyDelaysTheBytesOfACutDirection(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	free := ports(t, 1)
	p := newProxy(t, free[0], server.Addr().(*net.TCPAddr).Port)
	a, err := net.Dial("tcp", p.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := server.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	exchange := func(from, to net.Conn, text string) {
		t.Helper()
		if _, err := io.WriteString(from, text); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(text))
		if _, err := io.ReadFull(to, got); err != nil || !bytes.Equal(got, []byte(text)) {
			t.Fatalf("%q, %v", got, err)
		}
	}
	exchange(a, b, "one")
	exchange(b, a, "two")
	p.set(true, false)
	if _, err := io.WriteString(a, "late"); err != nil {
		t.Fatal(err)
	}
	exchange(b, a, "three")
	arrived := make(chan string, 1)
	go func() {
		got := make([]byte, 4)
		_, _ = io.ReadFull(b, got)
		arrived <- string(got)
	}()
	exchange(b, a, "four")
	select {
	case text := <-arrived:
		t.Fatalf("%q arrives in a cut direction", text)
	default:
	}
	p.set(false, false)
	if text := <-arrived; text != "late" {
		t.Errorf("%q arrives after the cut", text)
	}
}

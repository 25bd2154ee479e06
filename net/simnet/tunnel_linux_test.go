package simnet

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

// A TCP connection through a tunnel delivers all bytes in order over a route with losses, and has its delay.
func TestATunnelCarriesTCP(t *testing.T) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := uint16(l.Addr().(*net.TCPAddr).Port)
	tunnel, err := NewTunnel(port, Symmetric("", "", Path{Delay: 2 * time.Millisecond, Loss: 0.02}), 1)
	if err != nil {
		t.Skip(err)
	}
	defer tunnel.Close()
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<12)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		io.Copy(conn, conn)
	}()
	start := time.Now()
	conn, err := net.Dial("tcp", (&net.TCPAddr{IP: tunnel.Far().AsSlice(), Port: int(port)}).String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if took := time.Since(start); took < 4*time.Millisecond {
		t.Errorf("a handshake takes %v, which is shorter than the round trip", took)
	}
	go func() {
		conn.Write(sent)
		conn.(*net.TCPConn).CloseWrite()
	}()
	if got, err := io.ReadAll(conn); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d of %d bytes, %v", len(got), len(sent), err)
	}
}

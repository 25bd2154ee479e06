//go:build !js

package web

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/qlogwriter"
	"github.com/quic-go/webtransport-go"

	"tendon/net/simnet"
)

// virtualSocket is a socket of a simulated network, with the methods of a net.PacketConn.
type virtualSocket struct{ *simnet.PacketConn }

func (v virtualSocket) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := v.ReadFromUDPAddrPort(b)
	return n, net.UDPAddrFromAddrPort(from), err
}

func (v virtualSocket) WriteTo(b []byte, to net.Addr) (int, error) {
	return v.WriteToUDPAddrPort(b, to.(*net.UDPAddr).AddrPort())
}

func (v virtualSocket) SetDeadline(time.Time) error      { return nil }
func (v virtualSocket) SetWriteDeadline(time.Time) error { return nil }

// SetReadDeadline ends all reads: QUIC sets a deadline only when it closes.
func (v virtualSocket) SetReadDeadline(t time.Time) error {
	if !t.IsZero() {
		_ = v.Close()
	}
	return nil
}

// silent is a TCP listener without clients.
type silent struct{ closed chan struct{} }

func (s silent) Accept() (net.Conn, error) {
	<-s.closed
	return nil, net.ErrClosed
}

func (s silent) Close() error   { close(s.closed); return nil }
func (s silent) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 443} }

var virtualServer, virtualClient = netip.MustParseAddrPort("10.0.0.2:443"), netip.MustParseAddrPort("10.0.0.1:5000")

// virtual opens a Listener, and a session of WebTransport over a simulated network in virtual time.
func virtual(t *testing.T, profile simnet.Profile) (*Listener, *clientSession) {
	t.Helper()
	network := simnet.NewDatagramNet(simnet.Config{Seed: 1})
	t.Cleanup(network.Close)
	if err := network.Route(virtualClient.Addr(), virtualServer.Addr(), profile); err != nil {
		t.Fatal(err)
	}
	open := func(at netip.AddrPort) virtualSocket {
		socket, err := network.Listen(at)
		if err != nil {
			t.Fatal(err)
		}
		return virtualSocket{socket}
	}
	certificates, err := SelfSigned(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c, err := Config{Address: virtualServer.String(), Certificates: certificates}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	l, err := serve(c, silent{make(chan struct{})}, open(virtualServer))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	transport := &quic.Transport{Conn: open(virtualClient)}
	t.Cleanup(func() { transport.Close() })
	outlet := newOutlet()
	dialer := &webtransport.Transport{QUICConfig: &quic.Config{EnableDatagrams: true, EnableStreamResetPartialDelivery: true,
		Tracer: func(context.Context, bool, quic.ConnectionID) qlogwriter.Trace { return outlet }},
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{http3.NextProtoH3}},
		DialAddr: func(ctx context.Context, _ string, tc *tls.Config, qc *quic.Config) (*quic.Conn, error) {
			return transport.DialEarly(ctx, net.UDPAddrFromAddrPort(virtualServer), tc, qc)
		}}
	_, session, err := dialer.Dial(t.Context(), "https://"+virtualServer.String()+Path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialer.Close() })
	return l, &clientSession{&quicSession{session: session, outlet: outlet}, func() ([]byte, error) { return session.ReceiveDatagram(session.Context()) }}
}

// Losses and reordering of P5 do not stop QUIC from sending 60 packets of 400 bytes a second. Where it cannot send all, packets are
// dropped before they wait for long, and those that are sent are young.
func TestPacketsAreYoung(t *testing.T) {
	for _, c := range []struct {
		size    int
		arrive  float64       // share of the packets, at least
		age     time.Duration // p99, at most. The network has a delay of 125 ms, and jitter of 20 ms in the mean
		dropped bool
	}{
		{100, 0.9, 250 * time.Millisecond, false},
		{400, 0.85, 350 * time.Millisecond, false},
		{MaxPacket, 0.4, 500 * time.Millisecond, true},
	} {
		t.Run(fmt.Sprint(c.size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ages, sent, stats := packetAges(t, "P5", c.size)
				slices.Sort(ages)
				arrived, age := float64(len(ages))/float64(sent), ages[len(ages)*99/100]
				t.Logf("%.0f %% of the packets arrive, %v old in the median, p99 %v, %d dropped", 100*arrived, ages[len(ages)/2], age, stats.Late)
				if arrived < c.arrive || age > c.age || c.dropped && stats.Late == 0 {
					t.Errorf("want %.0f %%, p99 %v", 100*c.arrive, c.age)
				}
			})
		})
	}
}

// packetAges sends 60 packets a second to a client. It returns their ages when they arrive.
func packetAges(t *testing.T, profile string, size int) (ages []time.Duration, sent int, stats Stats) {
	t.Helper()
	p, _ := simnet.ByName(profile)
	l, client := virtual(t, p)
	if err := client.send([]byte{1}); err != nil {
		t.Fatal(err)
	}
	packet := make([]byte, size)
	_, address, err := l.ReadFromUDPAddrPort(packet)
	if err != nil {
		t.Fatal(err)
	}
	start, ended := time.Now(), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			data, err := client.read()
			if err != nil {
				return
			}
			ages = append(ages, time.Since(start)-time.Duration(binary.LittleEndian.Uint64(data)))
		}
	}()
	for ; time.Since(start) < 10*time.Second; time.Sleep(time.Second / 60) {
		binary.LittleEndian.PutUint64(packet, uint64(time.Since(start)))
		if _, err := l.WriteToUDPAddrPort(packet, address); err != nil {
			t.Fatal(err)
		}
		sent++
	}
	time.Sleep(3 * time.Second) // the last packets arrive
	stats = l.Stats()
	l.Close()
	<-ended
	return ages, sent, stats
}

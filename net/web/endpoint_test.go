//go:build !js

package web

import (
	"bytes"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"
)

// endpointsOf are n endpoints with different addresses.
func endpointsOf(n int) (list []Endpoint) {
	for i := range n {
		e := Endpoint{Address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 7777), Web: "play.example.net:7778", Hashes: []Hash{}}
		if i%2 == 1 {
			e.Address = netip.AddrPortFrom(netip.AddrFrom16([16]byte{0x20, 1, 15: byte(i)}), 7777)
			e.Hashes = []Hash{{1, byte(i)}, {2}}
		}
		list = append(list, e)
	}
	return list
}

// ParseEndpoints returns the list given to AppendEndpoints. Endpoints without an address for browsers, and those beyond MaxEndpoints, are
// skipped.
func TestEndpointsAreCoded(t *testing.T) {
	for _, n := range []int{0, 1, 2, MaxEndpoints} {
		want := endpointsOf(n)
		got, err := ParseEndpoints(AppendEndpoints(nil, want))
		if err != nil || len(got) != n || n > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%d endpoints: %+v, %v", n, got, err)
		}
	}
	odd := append(endpointsOf(1), Endpoint{Address: netip.MustParseAddrPort("10.0.0.9:1")}, Endpoint{Web: "a:1"},
		Endpoint{Address: netip.MustParseAddrPort("10.0.0.9:1"), Web: strings.Repeat("a", MaxWeb+1)})
	if got, err := ParseEndpoints(AppendEndpoints([]byte{1}, odd)[1:]); err != nil || len(got) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := ParseEndpoints(AppendEndpoints(nil, endpointsOf(MaxEndpoints+5))); err != nil || len(got) != MaxEndpoints {
		t.Errorf("%d endpoints, %v", len(got), err)
	}
	full := endpointsOf(MaxEndpoints)
	for i := range full {
		full[i].Address = netip.AddrPortFrom(netip.AddrFrom16([16]byte{0x20, 1, 15: byte(i)}), 7777)
		full[i].Web, full[i].Hashes = strings.Repeat("a", MaxWeb), make([]Hash, maxHashes)
	}
	if b := AppendEndpoints(nil, full); len(b) > 16<<10 { // session.MaxEndpointBytes
		t.Errorf("the largest list has %d bytes", len(b))
	}
}

// Bytes that are no list are refused.
func TestOtherBytesAreNoEndpoints(t *testing.T) {
	good := AppendEndpoints(nil, endpointsOf(2))
	for name, b := range map[string][]byte{
		"none": nil, "too many": {MaxEndpoints + 1}, "many and short": {MaxEndpoints, 4}, "cut": good[:len(good)-1], "trailing": append(bytes.Clone(good), 0),
		"an address of 5 bytes": {1, 5, 1, 2, 3, 4, 5, 0, 0, 1, 'a', 0, 0, 0}, "no web address": {1, 4, 1, 2, 3, 4, 0, 0, 0, 0}, "five hashes": append([]byte{1, 4, 1, 2, 3, 4, 0, 0, 1, 'a', 5}, make([]byte, 160)...),
	} {
		if list, err := ParseEndpoints(b); !errors.Is(err, ErrEndpoints) {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
}

func FuzzEndpoints(f *testing.F) {
	f.Add(AppendEndpoints(nil, endpointsOf(3)))
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := ParseEndpoints(b)
		if err != nil {
			return
		}
		if again, err := ParseEndpoints(AppendEndpoints(nil, list)); err != nil || len(again) != len(list) {
			t.Errorf("%+v became %+v, %v", list, again, err)
		}
	})
}

// A dialer opens a session to each server, with the transport that was open last. It keeps the newest endpoint of each address, and a
// bounded number of endpoints.
func TestADialerUsesTheEndpointsOfServers(t *testing.T) {
	certificates, err := SelfSigned(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	listener, _ := listen(t, Config{Certificates: certificates})
	at := func(i int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 7777)
	}
	add := func(d *Dialer, list ...Endpoint) {
		if err := d.AddEndpoints(AppendEndpoints(nil, list)); err != nil {
			t.Fatal(err)
		}
	}
	dial := func(d *Dialer, server int, url string, opens bool) {
		t.Helper()
		s, err := d.Dial(at(server))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if <-s.opened; (s.err == nil) != opens || s.target.URL != url {
			t.Errorf("server %d: %s, want %s: %v", server, s.target.URL, url, s.err)
		}
		if !s.Reaches(at(server)) || s.Reaches(at(99)) {
			t.Errorf("server %d: reaches it %v, another one %v", server, s.Reaches(at(server)), s.Reaches(at(99)))
		}
	}
	web := listener.LocalAddr().String()
	var d Dialer
	if _, err := d.Dial(at(1)); !errors.Is(err, ErrDial) || !strings.Contains(err.Error(), "10.0.0.1:7777") {
		t.Errorf("a server without an endpoint: %v", err)
	}
	wrong := []Hash{{1}} // so that TLS fails, and WebSocket without TLS does not
	add(&d, Endpoint{Address: at(1), Web: "127.0.0.1:1", Hashes: wrong}, Endpoint{Address: at(2), Web: "127.0.0.1:1"})
	add(&d, Endpoint{Address: at(1), Web: web, Hashes: wrong}, Endpoint{Address: at(3), Web: web, Hashes: wrong})
	dial(&d, 1, "https://"+web+Path, false)
	dial(&d, 2, "https://127.0.0.1:1"+Path, false) // another server in between
	dial(&d, 1, "ws://"+web+Path, true)
	add(&d, Endpoint{Address: at(6), Web: "localhost:2"})
	dial(&d, 6, "wss://localhost:2"+Path, false) // the transport that was open last
	dial(&d, 2, "wss://127.0.0.1:1"+Path, false)
	dial(&d, 2, "https://127.0.0.1:1"+Path, false)
	dial(&d, 3, "ws://"+web+Path, true) // the server of address 1
	add(&d, Endpoint{Address: at(4), Web: "localhost:1"})
	dial(&d, 4, "wss://localhost:1"+Path, false) // the transport that was open last
	if s, err := d.Dial(at(1)); err != nil || !s.Reaches(at(3)) || s.Reaches(at(2)) {
		t.Errorf("two addresses of one server: %v", err)
	} else {
		s.Close()
	}
	for i := range 10 * MaxEndpoints {
		add(&d, Endpoint{Address: at(5 + i%100), Web: "a:1"})
	}
	if list := d.Endpoints(); len(list) != MaxEndpoints || list[0].Address != at(5+(10*MaxEndpoints-1)%100) {
		t.Errorf("%d endpoints, the newest %v", len(list), list[0].Address)
	}
	if err := d.AddEndpoints([]byte{9}); !errors.Is(err, ErrEndpoints) || len(d.Endpoints()) != MaxEndpoints {
		t.Errorf("%v, %d endpoints", err, len(d.Endpoints()))
	}
}

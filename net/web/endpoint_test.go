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

// A list of endpoints is the same after it was sent. Endpoints without an address for browsers, and those that are too many, are left out.
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
	if b := AppendEndpoints(nil, full); len(b) > 16<<10 { // session.MaxEndpoints
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

// A dialer has a session to each server, in the way that was open before. It keeps the newest endpoint of an address, and a bounded number.
func TestADialerKnowsServersByTheirEndpoints(t *testing.T) {
	certificates, err := SelfSigned(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	listener, _ := listen(t, Config{Certificates: certificates})
	at := func(i int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 7777)
	}
	learn := func(d *Dialer, list ...Endpoint) {
		if err := d.Learn(AppendEndpoints(nil, list)); err != nil {
			t.Fatal(err)
		}
	}
	var d Dialer
	if _, err := d.Dial(at(1)); !errors.Is(err, ErrDial) || !strings.Contains(err.Error(), "10.0.0.1:7777") {
		t.Errorf("a server without an endpoint: %v", err)
	}
	learn(&d, Endpoint{Address: at(1), Web: "127.0.0.1:1"}, Endpoint{Address: at(2), Web: "127.0.0.1:1"})
	learn(&d, Endpoint{Address: at(1), Web: listener.LocalAddr().String(), Hashes: certificates.Hashes()})
	d.way = 1 // WebSocket
	d.used = 1
	s, err := d.Dial(at(1))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if <-s.opened; s.err != nil || s.target.URL != "ws://"+listener.LocalAddr().String()+Path {
		t.Fatalf("%s: %v", s.target.URL, s.err)
	}
	for attempt, want := range []string{"wss://127.0.0.1:1" + Path, "https://127.0.0.1:1" + Path} {
		s, err := d.Dial(at(2))
		if err != nil {
			t.Fatal(err)
		}
		if <-s.opened; s.err == nil || s.target.URL != want {
			t.Errorf("attempt %d uses %s, want %s: %v", attempt, s.target.URL, want, s.err)
		}
		s.Close()
	}
	for i := range 10 * MaxEndpoints {
		learn(&d, Endpoint{Address: at(3 + i%100), Web: "a:1"})
	}
	if list := d.Endpoints(); len(list) != mostKept || list[0].Address != at(3+(10*MaxEndpoints-1)%100) {
		t.Errorf("%d endpoints, the newest %v", len(list), list[0].Address)
	}
	if err := d.Learn([]byte{9}); !errors.Is(err, ErrEndpoints) || len(d.Endpoints()) != mostKept {
		t.Errorf("%v, %d endpoints", err, len(d.Endpoints()))
	}
}

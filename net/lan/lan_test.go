package lan

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tendon/net/simnet"
	"tendon/net/wire/vectors"
)

var (
	home   = netip.MustParseAddrPort("10.0.0.1:47777")
	guest  = netip.MustParseAddrPort("10.0.0.2:5000")
	foe    = netip.MustParseAddrPort("10.0.0.3:6000")
	secret = []byte("a connect token")
	noon   = time.Unix(1_700_000_000, 0)
)

// house is a server of the tests.
type house struct {
	*Server
	minted int
	words  []Words // of admitted clients
}

func newHouse(t testing.TB) *house {
	t.Helper()
	h := &house{}
	s, err := NewServer(ServerConfig{
		Describe: func() Description {
			return Description{Name: "attic", Game: "dots 2", Fingerprint: 77, Strategy: "relay", Players: 2, Places: 8}
		},
		Mint: func(netip.AddrPort) ([]byte, error) {
			h.minted++
			return append(bytes.Clone(secret), make([]byte, 500)...), nil
		},
		Admitted: func(_ netip.AddrPort, w Words) { h.words = append(h.words, w) },
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Server = s
	return h
}

func newExchange(t testing.TB) *Exchange {
	t.Helper()
	x, err := NewExchange()
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// admit runs an exchange with a server.
func (h *house) admit(x *Exchange, from netip.AddrPort, at time.Time) (done bool) {
	for range 2 {
		_, done, _ = x.Receive(h.Answer(nil, x.Request(), from, at))
	}
	return done
}

// Both sides show the same words, and the client has the token. Another exchange has other words.
func TestAClientReceivesATokenAndBothSidesTheSameWords(t *testing.T) {
	h := newHouse(t)
	a, b := newExchange(t), newExchange(t)
	for _, x := range []*Exchange{a, b} {
		if !h.admit(x, guest, noon) || !bytes.Equal(x.Token, secret) {
			t.Fatalf("the token is %q", x.Token)
		}
	}
	if !slices.Equal(h.words, []Words{a.Words, b.Words}) || a.Words == b.Words || len(strings.Fields(a.Words.String())) != 3 {
		t.Errorf("the words are %v and %v, the server has %v", a.Words, b.Words, h.words)
	}
}

// A host that replaces keys in the middle reads the token, and the words of the two sides differ.
func TestAHostInTheMiddleChangesTheWords(t *testing.T) {
	h, middle, x := newHouse(t), newHouse(t), newExchange(t)
	theirs := newExchange(t)
	if !h.admit(theirs, foe, noon) || !middle.admit(x, guest, noon) {
		t.Fatal("the exchanges are not over")
	}
	if x.Words == h.words[0] {
		t.Error("the words are equal")
	}
	// The key of the server with the nonce of another exchange does not open the token, and neither does another client's key.
	eaves, honest := newExchange(t), newExchange(t)
	offer := h.Answer(nil, honest.Request(), guest, noon)
	if _, _, err := honest.Receive(offer); err != nil {
		t.Fatal(err)
	}
	sealed := h.Answer(nil, honest.Request(), guest, noon)
	eaves.commitment, eaves.server, eaves.nonce, eaves.offered = honest.commitment, honest.server, honest.nonce, true
	if _, done, err := eaves.Receive(sealed); done || !errors.Is(err, errSeal) {
		t.Errorf("a third host: %v, %v", done, err)
	}
	if _, done, _ := honest.Receive(sealed); !done {
		t.Error("the client cannot open its token")
	}
}

// A client whose key does not fit its commitment receives nothing: it could otherwise choose a key after it has seen the server's.
func TestAKeyFitsItsCommitment(t *testing.T) {
	h := newHouse(t)
	x, other := newExchange(t), newExchange(t)
	if _, _, err := x.Receive(h.Answer(nil, x.Request(), guest, noon)); err != nil {
		t.Fatal(err)
	}
	take := x.Request()
	x.key = other.key
	if answer := h.Answer(nil, x.Request(), guest, noon); answer != nil {
		t.Error("another key was accepted")
	}
	if answer := h.Answer(nil, take, foe, noon); answer != nil {
		t.Error("another address was accepted")
	}
	if answer := h.Answer(nil, take, guest, noon.Add(nonceLife)); answer == nil || h.minted != 1 {
		t.Error("a nonce of the period before was refused")
	}
	if answer := h.Answer(nil, take, guest, noon.Add(2*nonceLife)); answer != nil {
		t.Error("an old nonce was accepted")
	}
}

// A request that is repeated, because the answer was lost, has the same answer and no second token.
func TestARepeatedRequestHasTheSameAnswer(t *testing.T) {
	h, x := newHouse(t), newExchange(t)
	if !h.admit(x, guest, noon) {
		t.Fatal("no token")
	}
	first, again := h.Answer(nil, x.Request(), guest, noon), h.Answer(nil, x.Request(), guest, noon)
	if !bytes.Equal(first, again) || len(first) == 0 || h.minted != 1 || len(h.words) != 1 {
		t.Errorf("%d tokens were minted, %d clients admitted", h.minted, len(h.words))
	}
}

// A server mints one token a second, eight at once, and answers one source ten times a second.
func TestRequestsAreLimited(t *testing.T) {
	h := newHouse(t)
	for i := range 200 {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 1, byte(i)}), 9)
		h.admit(newExchange(t), from, noon)
	}
	if h.minted != 8 || len(h.words) != 8 {
		t.Errorf("%d tokens at once, %d reported", h.minted, len(h.words))
	}
	find := findOf(1)
	answers := 0
	for i := range 1000 {
		if h.Answer(nil, find, guest, noon.Add(time.Duration(i)*time.Millisecond)) != nil {
			answers++
		}
	}
	if answers > 45 {
		t.Errorf("%d answers to one source in a second", answers)
	}
	if n := testing.AllocsPerRun(100, func() { h.Answer(nil, find, guest, noon) }); n > 0 {
		t.Errorf("a request above the limit allocates %v times", n)
	}
}

func findOf(number uint64) []byte {
	w := begin(nil, kindFind, requestSizes[kindFind])
	w.U64(number)
	return request(w, kindFind)
}

// A server answers only addresses of a local network or of its host.
func TestOtherNetworksHaveNoAnswer(t *testing.T) {
	for from, want := range map[string]bool{"10.1.2.3:9": true, "192.168.0.9:9": true, "127.0.0.1:9": true, "169.254.1.1:9": true, "[fe80::1]:9": true,
		"8.8.8.8:9": false, "[2001:db8::1]:9": false, "100.64.0.1:9": false} {
		if got := newHouse(t).Answer(nil, findOf(1), netip.MustParseAddrPort(from), noon) != nil; got != want {
			t.Errorf("%s: answered %v, want %v", from, got, want)
		}
	}
}

// Requests reach the hosts of a network whose number has an odd last byte, too.
func TestBroadcastAddressesHaveAllBitsOfHosts(t *testing.T) {
	for network, want := range map[string]string{"192.168.1.37/24": "192.168.1.255", "192.168.0.37/24": "192.168.0.255", "10.0.3.9/8": "10.255.255.255",
		"172.16.5.4/20": "172.16.15.255", "10.0.0.6/31": "10.0.0.7", "10.0.0.7/32": "10.0.0.7"} {
		if got := broadcastOf(netip.MustParsePrefix(network)).String(); got != want {
			t.Errorf("%s: %s, want %s", network, got, want)
		}
	}
}

// The layouts and hashes of STANDARD.md.
func TestVectors(t *testing.T) {
	bytes := map[string][]byte{}
	for _, v := range vectors.Read(t) {
		bytes[v.Name] = v.Bytes
		switch v.Kind {
		case "found":
			server, d, err := readFound(v.Bytes, 0x0807060504030201)
			if v.Meaning == vectors.Refused {
				if !errors.Is(err, ErrPacket) {
					t.Errorf("%s: %+v, %v", v.Name, d, err)
				}
			} else if got := fmt.Sprintf("%+v", d); err != nil || got != v.Meaning {
				t.Errorf("%s: %s, %v, want %s", v.Name, got, err, v.Meaning)
			} else if again := appendFound(nil, 0x0807060504030201, server, d); string(again) != string(v.Bytes) {
				t.Errorf("%s: encoded again % x", v.Name, again)
			}
		case "request":
			h := newHouse(t)
			if v.Meaning == vectors.Refused {
				if answer := h.Answer(nil, v.Bytes, guest, noon); answer != nil {
					t.Errorf("%s: answered % x", v.Name, answer)
				}
			} else if answer := h.Answer(nil, v.Bytes, guest, noon); len(answer) == 0 || len(answer) > len(v.Bytes) {
				t.Errorf("%s: answered % x", v.Name, answer)
			}
		}
	}
	key, err := ecdh.X25519().NewPrivateKey(bytes["exchange/client-private"])
	if err != nil {
		t.Fatal(err)
	}
	home, err := ecdh.X25519().NewPrivateKey(bytes["exchange/server-private"])
	if err != nil {
		t.Fatal(err)
	}
	x := &Exchange{key: key, opening: [nonceSize]byte(bytes["exchange/opening"]), offered: true,
		server: [keySize]byte(home.PublicKey().Bytes()), nonce: [nonceSize]byte(bytes["exchange/nonce"])}
	x.commitment = commitment(key.PublicKey().Bytes(), x.opening[:])
	if _, done, err := x.Receive(bytes["exchange/sealed"]); err != nil || !done || string(x.Token) != "token" {
		t.Errorf("%v, %v, %q", done, err, x.Token)
	}
	for name, got := range map[string][]byte{"exchange/commitment": x.commitment[:], "exchange/transcript": func() []byte { t := x.transcript(); return t[:] }(),
		"exchange/words": []byte(x.Words.String())} {
		if string(got) != string(bytes[name]) {
			t.Errorf("%s: %s, want %s", name, hex.EncodeToString(got), hex.EncodeToString(bytes[name]))
		}
	}
	known := map[string]bool{}
	for _, w := range words {
		known[w] = true
		if strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") != "" || len(w) > 10 {
			t.Errorf("the word %q", w)
		}
	}
	if len(known) != 256 || len(words) != 256 {
		t.Errorf("%d different words", len(known))
	}
}

// A server that answers from several addresses is one server, and the address of another host is better than a loopback one.
func TestAServerIsFoundOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := simnet.NewDatagramNet(simnet.Config{Seed: 5})
		loop := netip.MustParseAddrPort("127.0.0.1:47777")
		number := newHouse(t).number
		var sockets []*simnet.PacketConn
		ended := make(chan bool)
		for _, at := range []netip.AddrPort{loop, home} {
			if err := network.Route(guest.Addr(), at.Addr(), simnet.Profile{}); err != nil {
				t.Fatal(err)
			}
			s, err := network.Listen(at)
			if err != nil {
				t.Fatal(err)
			}
			sockets = append(sockets, s)
			h := newHouse(t) // one server cannot read two sockets
			h.number = number
			go func() { h.Serve(s); ended <- true }()
		}
		s, err := network.Listen(guest)
		if err != nil {
			t.Fatal(err)
		}
		if list, err := Find(context.Background(), s, []netip.AddrPort{loop, home}, time.Second); err != nil || len(list) != 1 || list[0].Address != home {
			t.Errorf("%+v, %v", list, err)
		}
		for _, s := range sockets {
			s.Close()
			<-ended
		}
		network.Close()
	})
}

// Servers are found and joined over a network that loses packets.
func TestFindAndJoinOverANetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := simnet.NewDatagramNet(simnet.Config{Seed: 5})
		p, _ := simnet.ByName("P5")
		for _, at := range []netip.AddrPort{guest, foe} {
			if err := network.Route(at.Addr(), home.Addr(), p); err != nil {
				t.Fatal(err)
			}
		}
		listen := func(at netip.AddrPort) *simnet.PacketConn {
			s, err := network.Listen(at)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		h, socket, ended := newHouse(t), listen(home), make(chan bool)
		go func() { h.Serve(socket); close(ended) }()
		list, err := Find(context.Background(), listen(guest), []netip.AddrPort{home, home}, 2*time.Second)
		if err != nil || len(list) != 1 || list[0].Address != home || list[0].Game != "dots 2" || list[0].Players != 2 {
			t.Errorf("%+v, %v", list, err)
		}
		token, words, err := Join(context.Background(), listen(foe), home, 5*time.Second)
		if err != nil || !bytes.Equal(token, secret) {
			t.Errorf("%q, %v", token, err)
		}
		socket.Close()
		<-ended
		if len(h.words) != 1 || words != h.words[0] {
			t.Errorf("the words are %v, the server has %v", words, h.words)
		}
		if _, _, err := Join(context.Background(), listen(guest), home, time.Second); !errors.Is(err, ErrNoAnswer) {
			t.Errorf("without a server: %v", err)
		}
		network.Close()
	})
}

// No packet makes a server panic, and no answer is longer than its request.
func FuzzServer(f *testing.F) {
	for _, v := range vectors.Read(f) {
		if v.Kind == "request" {
			f.Add(v.Bytes)
		}
	}
	h := newHouse(f)
	at := noon
	f.Fuzz(func(t *testing.T, packet []byte) {
		at = at.Add(time.Second)
		if answer := h.Answer(nil, packet, guest, at); len(answer) > len(packet) {
			t.Errorf("%d bytes are answered with %d", len(packet), len(answer))
		}
	})
}

// No packet makes a client panic. A client has a token only from the holder of the server's key.
func FuzzClient(f *testing.F) {
	for _, v := range vectors.Read(f) {
		f.Add(v.Bytes)
	}
	f.Fuzz(func(t *testing.T, packet []byte) {
		if server, d, err := readFound(packet, 0x0807060504030201); err == nil && !bytes.Equal(appendFound(nil, 0x0807060504030201, server, d), packet) {
			t.Errorf("%+v is encoded differently", d)
		}
		x := newExchange(t)
		packet = bytes.Clone(packet)
		for range 2 {
			copy(packet[min(len(packet), headSize):], x.commitment[:idSize])
			if _, done, _ := x.Receive(packet); done {
				t.Error("a token without the key of the server")
			}
			x.offered = true
		}
	})
}

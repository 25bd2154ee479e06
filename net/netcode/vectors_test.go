package netcode

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"
)

//go:embed testdata/reference.txt
var referenceText string

// reference returns the vectors of testdata/reference.txt, fresh copies.
func reference(tb testing.TB) map[string][]byte {
	tb.Helper()
	vectors := map[string][]byte{}
	for line := range strings.Lines(referenceText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, digits, _ := strings.Cut(strings.TrimSpace(line), " ")
		raw, err := hex.DecodeString(digits)
		if err != nil || len(raw) == 0 {
			tb.Fatalf("vector %q: %v", name, err)
		}
		vectors[name] = raw
	}
	return vectors
}

const (
	vectorProtocol  = 0x1122334455667788
	vectorCreated   = 0x65a0b1c2b0
	vectorExpires   = 0x65a0b1c2d3
	vectorChallenge = 0x1234
)

func countingKey(first byte) (k Key) {
	for i := range k {
		k[i] = first + byte(i)
	}
	return k
}

var (
	vectorKey            = countingKey(1)
	vectorClientToServer = countingKey(0x40)
	vectorServerToClient = countingKey(0x80)
	vectorChallengeKey   = countingKey(0xc0)
	vectorServers        = []netip.AddrPort{
		netip.MustParseAddrPort("10.20.30.40:40000"),
		netip.MustParseAddrPort("[2001:db8:1:2:3:4:5:607]:40001"),
		netip.MustParseAddrPort("[::1]:65535"),
	}
)

func vectorPrivate() PrivateToken {
	t := PrivateToken{ClientID: 0x0102030405060708, terms: vectorTerms()}
	for i := range t.UserData {
		t.UserData[i] = byte(i*7 + 3)
	}
	return t
}

func vectorTerms() terms {
	t := terms{TimeoutSeconds: 17, ClientToServer: vectorClientToServer, ServerToClient: vectorServerToClient}
	t.setServers(vectorServers)
	return t
}

func vectorToken() ConnectToken {
	t := ConnectToken{ProtocolID: vectorProtocol, Created: vectorCreated, Expires: vectorExpires, terms: vectorTerms()}
	for i := range t.nonce {
		t.nonce[i] = byte(0xf0 - i)
	}
	private := vectorPrivate()
	private.put(t.sealed[:])
	sealToken(t.sealed[:], newTokenAEAD(&vectorKey), t.ProtocolID, t.Expires, t.nonce[:])
	return t
}

func vectorCodec() *codec {
	c := new(codec)
	c.init(vectorProtocol)
	return c
}

func wantBytes(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		i := 0
		for i < len(got) && i < len(want) && got[i] == want[i] {
			i++
		}
		t.Errorf("%s: %d bytes, want %d; first difference at byte %d", what, len(got), len(want), i)
	}
}

// The judge of the wire is an implementation in another language: our encoders must give its bytes from its inputs.
func TestTokensAreTheReferencesByteForByte(t *testing.T) {
	want := reference(t)

	plain := bytes.Repeat([]byte{0xee}, privateTokenSize) // the padding must be written, not assumed
	private := vectorPrivate()
	private.put(plain)
	wantBytes(t, "private token", plain, want["private_plain"])

	token := vectorToken()
	wantBytes(t, "sealed private token", token.sealed[:], want["private_sealed"])
	public := bytes.Repeat([]byte{0xee}, TokenSize)
	token.put(public)
	wantBytes(t, "connect token", public, want["token"])

	parsed, err := ParseConnectToken(want["token"])
	if err != nil {
		t.Fatal(err)
	}
	if *parsed != token {
		t.Errorf("parsed token %+v, want %+v", parsed, token)
	}
	opened, err := parsed.Open(vectorKey)
	if err != nil {
		t.Fatal(err)
	}
	if *opened != private {
		t.Errorf("opened token %+v, want %+v", opened, private)
	}
	if _, err := parsed.Open(vectorChallengeKey); err != errTokenSeal {
		t.Errorf("wrong key: %v, want %v", err, errTokenSeal)
	}
}

func TestChallengeTokensAreTheReferencesByteForByte(t *testing.T) {
	want := reference(t)
	private := vectorPrivate()
	c, key := vectorCodec(), newAEAD(&vectorChallengeKey)
	for i := range c.body {
		c.body[i] = 0xee // the padding must be written, not assumed
	}
	body := c.sealChallenge(key, vectorChallenge, private.ClientID, &private.UserData)
	wantBytes(t, "sealed challenge token", body[8:], want["challenge_sealed"])
	id, data, ok := c.openChallenge(key, body)
	if !ok || id != private.ClientID || *data != private.UserData {
		t.Errorf("opened %v: client %x, user data %x", ok, id, data)
	}
	wantBytes(t, "challenge token", body[8:8+challengeSize-tagSize], want["challenge_plain"][:challengeSize-tagSize])
}

// packetVectors lists every sealed packet of the reference with its contents.
func packetVectors(want map[string][]byte) []packetVector {
	sealedChallenge := append(binary.LittleEndian.AppendUint64(nil, vectorChallenge), want["challenge_sealed"]...)
	vectors := []packetVector{
		{"denied", kindDenied, 1<<63 + 5, nil, vectorServerToClient},
		{"challenge", kindChallenge, 1 << 63, sealedChallenge, vectorServerToClient},
		{"response", kindResponse, 1, sealedChallenge, vectorClientToServer},
		{"keep_alive", kindKeepAlive, 1000, []byte{10, 0, 0, 0, 16, 0, 0, 0}, vectorServerToClient},
		{"disconnect", kindDisconnect, 65536, nil, vectorClientToServer},
	}
	for s, size := range []int{1, 37, 1200} {
		body := make([]byte, size)
		for i := range body {
			body[i] = byte(i*3 + s)
		}
		vectors = append(vectors, packetVector{fmt.Sprintf("payload_%d", size), kindPayload, 255 + uint64(s), body, vectorServerToClient})
	}
	for name := range want {
		var sequence uint64
		if n, _ := fmt.Sscanf(name, "sequence_%d", &sequence); n == 1 {
			vectors = append(vectors, packetVector{name, kindDisconnect, sequence, nil, vectorClientToServer})
		}
	}
	return vectors
}

type packetVector struct {
	name     string
	kind     kind
	sequence uint64
	body     []byte
	key      Key
}

func TestPacketsAreTheReferencesByteForByte(t *testing.T) {
	want := reference(t)
	vectors := packetVectors(want)
	if len(vectors) != 23 {
		t.Fatalf("%d packets in the reference, want 23", len(vectors))
	}
	c := vectorCodec()
	for _, v := range vectors {
		got := c.seal([]byte("before"), newAEAD(&v.key), v.kind, v.sequence, v.body)
		wantBytes(t, v.name, got, append([]byte("before"), want[v.name]...))

		h, drop := parseHeader(want[v.name], 1<<v.kind)
		if drop != 0 || h.kind != v.kind || h.sequence != v.sequence {
			t.Errorf("%s: header %+v, drop %v", v.name, h, drop)
			continue
		}
		body, drop := c.open(want[v.name], newAEAD(&v.key), h, new(window))
		if drop != 0 || !bytes.Equal(body, v.body) {
			t.Errorf("%s: drop %v, opened with %d bytes, want %d", v.name, drop, len(body), len(v.body))
		}
	}
}

// The request is the one packet that is not sealed; a client makes it from its token alone.
func TestRequestIsTheReferencesByteForByte(t *testing.T) {
	want := reference(t)
	var c Client
	if err := c.Connect(want["token"], time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	var out Outbox
	c.Update(&out, time.Unix(0, 0))
	if out.Len() != 1 {
		t.Fatalf("%d packets, want 1", out.Len())
	}
	to, packet := out.At(0)
	if to != vectorServers[0] {
		t.Errorf("request goes to %v, want the token's first server %v", to, vectorServers[0])
	}
	wantBytes(t, "request", packet, want["request"])
}

// Sizes that other layers and the threat table rely on.
func TestPacketSizesAreTheStandards(t *testing.T) {
	want := reference(t)
	for name, size := range map[string]int{"request": 1078, "challenge": 333, "denied": 25, "token": 2048} {
		if len(want[name]) != size {
			t.Errorf("%s has %d bytes, want %d", name, len(want[name]), size)
		}
	}
	if MaxPacket != 1225 {
		t.Errorf("MaxPacket = %d, want 1225", MaxPacket)
	}
}

// A token from a fixed source never changes: its digest is pinned, and a change of it is a change of the wire.
func TestGeneratedTokenIsPinned(t *testing.T) {
	token, err := GenerateToken(TokenRequest{
		ProtocolID: 7, Key: vectorKey, ClientID: 9, Servers: vectorServers,
		UserData: []byte("room 3 seat 1"), Lifetime: 30 * time.Second, Timeout: 5 * time.Second, Random: newRandom(1),
	}, time.Unix(1_700_000_000, 999))
	if err != nil {
		t.Fatal(err)
	}
	const want = "019d6ab084f4268d04decbbf22a3520a4c715af94ecb583c0a94c67d6c3a3c8e"
	if got := fmt.Sprintf("%x", sha256.Sum256(token)); got != want {
		t.Errorf("token digest %s, want %s", got, want)
	}
}

// newRandom is a reproducible stand-in for crypto/rand.
func newRandom(seed byte) *rand.ChaCha8 { return rand.NewChaCha8([32]byte{seed}) }

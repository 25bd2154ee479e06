// Package tokens reads and writes connect tokens, key files and addresses of the command line.
package tokens

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/net/netcode"
	"tendon/net/server"
)

// LoadKey reads a key file. Its errors name the verb that generates one; those of net/server cannot.
func LoadKey(path string) (netcode.Key, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() == 0 {
		return netcode.Key{}, fmt.Errorf("the key file %s is empty: a key is 32 bytes or 64 hexadecimal digits", path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return netcode.Key{}, fmt.Errorf("the key file %s does not exist: make it with token ADDR --key-file %s --new-key, or name another", path, app.Quoted(path))
	}
	return server.LoadKey(path)
}

// Mint mints a token for a room of a server.
func Mint(game string, key netcode.Key, to netip.AddrPort, pass server.Pass, life time.Duration) ([]byte, error) {
	return server.Mint(server.Ticket{ProtocolID: server.ProtocolID(game), Key: key, Addresses: []netip.AddrPort{to}, Pass: pass, Lifetime: life}, time.Now())
}

// Text encodes a token for a command line, without the zeros at its end.
func Text(token []byte) string {
	return base64.RawURLEncoding.EncodeToString(bytes.TrimRight(token, "\x00"))
}

// Parse decodes the output of Text. @FILE is a file whose contents begin with it.
func Parse(text string) ([]byte, error) {
	where := "that"
	if name, isFile := strings.CutPrefix(text, "@"); isFile {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("the token file cannot be read: %w", err)
		}
		words := strings.Fields(string(content))
		if len(words) == 0 {
			return nil, fmt.Errorf("the token file %s is empty, and that is no connect token: copy the whole text that serve or token printed, or give another @FILE", name)
		}
		text, where = words[0], "the start of "+name
	}
	token, ok := Decode(strings.TrimSpace(text))
	if !ok {
		return nil, fmt.Errorf("%s is no connect token: copy the whole text that serve or token printed, or give @FILE", where)
	}
	return token, nil
}

// Decode decodes the output of Text.
func Decode(text string) (token []byte, ok bool) {
	token, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(token) > netcode.TokenSize {
		return nil, false
	}
	token = append(token, make([]byte, netcode.TokenSize-len(token))...)
	_, err = netcode.ParseConnectToken(token)
	return token, err == nil
}

// Address returns the address of host:port.
func Address(text string) (netip.AddrPort, error) {
	addr, err := net.ResolveUDPAddr("udp", text)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%q is no address: give host:port, such as 127.0.0.1:7777 (%w)", text, err)
	}
	at := netip.AddrPortFrom(addr.AddrPort().Addr().Unmap(), addr.AddrPort().Port()) // IsUnspecified is false for a mapped 0.0.0.0
	if !at.Addr().IsValid() || at.Addr().IsUnspecified() || at.Port() == 0 {
		return netip.AddrPort{}, fmt.Errorf("%q is no address that a client can reach: give host:port, such as 127.0.0.1:7777", text)
	}
	return at, nil
}

// RandomKey returns a key for one run.
func RandomKey() (k netcode.Key) {
	rand.Read(k[:]) // never fails
	return k
}

// Package tokens reads and writes connect tokens and addresses of the command line.
package tokens

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"tendon/net/netcode"
	"tendon/net/server"
)

// Mint mints a token for a room of a server.
func Mint(game string, key netcode.Key, to netip.AddrPort, pass server.Pass, life time.Duration) ([]byte, error) {
	return server.Mint(server.Ticket{ProtocolID: server.ProtocolID(game), Key: key, Addresses: []netip.AddrPort{to}, Pass: pass, Lifetime: life}, time.Now())
}

// Text encodes a token for a command line, without the zeros at its end.
func Text(token []byte) string {
	return base64.RawURLEncoding.EncodeToString(bytes.TrimRight(token, "\x00"))
}

// Parse decodes the output of Text. @FILE is a file whose contents begin with it, and - is standard input.
func Parse(text string) ([]byte, error) {
	where := "that"
	name, given := strings.CutPrefix(text, "@")
	read := os.ReadFile
	if text == "-" {
		name, given = "standard input", true
		read = func(string) ([]byte, error) { return io.ReadAll(io.LimitReader(os.Stdin, 1<<16)) }
	}
	if given {
		content, err := read(name)
		if err != nil {
			return nil, fmt.Errorf("the token file cannot be read: %w", err)
		}
		words := strings.Fields(string(content))
		if len(words) == 0 {
			return nil, fmt.Errorf("the token file %s is empty, and that is not a connect token: copy the whole text that serve or token printed, or give another @FILE", name)
		}
		text, where = words[0], "the start of "+name
	}
	token, ok := Decode(strings.TrimSpace(text))
	if !ok {
		return nil, fmt.Errorf("%s is not a connect token: copy the whole text that serve or token printed, or give @FILE", where)
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
		return netip.AddrPort{}, fmt.Errorf("%q is not an address (host:port): give one such as 127.0.0.1:7777 (%w)", text, err)
	}
	at := netip.AddrPortFrom(addr.AddrPort().Addr().Unmap(), addr.AddrPort().Port()) // IsUnspecified is false for a mapped 0.0.0.0
	if !at.Addr().IsValid() || at.Addr().IsUnspecified() || at.Port() == 0 {
		return netip.AddrPort{}, fmt.Errorf("%q is not an address that a client can reach (host:port): give one such as 127.0.0.1:7777", text)
	}
	return at, nil
}

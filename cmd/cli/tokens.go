package cli

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

	"tendon/net/netcode"
	"tendon/net/server"
)

// loadKey reads a key file. Its errors name the verb that generates one; those of net/server cannot.
func loadKey(path string) (netcode.Key, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() == 0 {
		return netcode.Key{}, fmt.Errorf("the key file %s is empty: a key is 32 bytes or 64 hexadecimal digits", path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return netcode.Key{}, fmt.Errorf("the key file %s does not exist: make it with token ADDR --key-file %s --new-key, or name another", path, quoted(path))
	}
	return server.LoadKey(path)
}

// tokenText encodes a token for a command line, without the zeros at its end.
func tokenText(token []byte) string {
	return base64.RawURLEncoding.EncodeToString(bytes.TrimRight(token, "\x00"))
}

// parseToken decodes the text of tokenText, or the first word of a file, given as @FILE.
func parseToken(text string) ([]byte, error) {
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
		text, where = words[0], "the first word of "+name
	}
	token, ok := tokenOf(strings.TrimSpace(text))
	if !ok {
		return nil, fmt.Errorf("%s is no connect token: copy the whole text that serve or token printed, or give @FILE", where)
	}
	return token, nil
}

// tokenOf decodes the text of tokenText.
func tokenOf(text string) (token []byte, ok bool) {
	token, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(token) > netcode.TokenSize {
		return nil, false
	}
	token = append(token, make([]byte, netcode.TokenSize-len(token))...)
	_, err = netcode.ParseConnectToken(token)
	return token, err == nil
}

// resolve returns the address of host:port.
func resolve(text string) (netip.AddrPort, error) {
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

// randomKey returns a key for one run.
func randomKey() (k netcode.Key) {
	rand.Read(k[:]) // never fails
	return k
}

// Package tokens reads and writes connect tokens, addresses and the token of an admin server, for the command line.
package tokens

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tendon/cmd/cli/durable"
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
	read := ReadPrivate
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

// ReadPrivate reads a file of tokens or keys. It refuses a file that users other than its owner may read or write.
func ReadPrivate(path string) ([]byte, error) {
	content, info, err := durable.ReadFile(path)
	if err == nil && server.Exposed(info) {
		err = fmt.Errorf("other users may read %s (mode %04o): run chmod 600 on it, and replace the tokens or keys in it if one of them has read it", path, info.Mode().Perm())
	}
	return content, err
}

// Write replaces a file by the text of a token. Only its owner may read the file.
func Write(path string, token []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".token-*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(Text(token) + "\n")
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// Decode decodes the output of Text.
func Decode(text string) (token []byte, ok bool) {
	token, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(token) == 0 || len(token) > netcode.TokenSize {
		return nil, false
	}
	token = append(token, make([]byte, netcode.TokenSize-len(token))...)
	_, err = netcode.ParseConnectToken(token)
	return token, err == nil
}

// AdminFile reads the token of an admin server from the file of --admin-token-file.
func AdminFile(path string) (string, error) {
	text, err := ReadPrivate(path)
	if err != nil {
		return "", fmt.Errorf("--admin-token-file: %w", err)
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return "", fmt.Errorf("--admin-token-file: %s is empty: write a token of 16 characters or more into it", path)
	}
	return string(text), nil
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

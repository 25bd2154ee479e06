//go:build !js

package page

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// ErrConfig is wrapped by every error about a Config; it names the field.
var ErrConfig = errors.New("page: invalid Config")

// Config configures the address of a server and access to it.
type Config struct {
	// Addr is the address to listen on, host:port. Default: a free port of 127.0.0.1. A host other than loopback needs a Token,
	// as does ":8080".
	Addr  string
	Token string // the token that visitors need, 16 to 512 printable ASCII characters without spaces. Default: none
	// Hosts are further names of the server, as in the Host header: "game.example.net" behind a proxy,
	// "game.example.net:8080" without. The address itself and localhost are always accepted.
	Hosts   []string
	Streams int // the maximum number of streams; further ones are refused with 503. Default: 32
}

// Reachable reports whether other machines can reach a listening address, so that New requires a Token. It is false for an
// invalid address.
func Reachable(addr string) bool {
	at, err := net.ResolveTCPAddr("tcp", addr)
	return err == nil && !at.IP.IsLoopback()
}

const minToken, maxToken = 16, 512

func (c Config) withDefaults() (Config, *net.TCPAddr, error) {
	wrong := func(format string, args ...any) (Config, *net.TCPAddr, error) {
		return c, nil, fmt.Errorf("%w: %w", ErrConfig, fmt.Errorf(format, args...))
	}
	c.Addr = cmp.Or(c.Addr, "127.0.0.1:0")
	at, err := net.ResolveTCPAddr("tcp", c.Addr)
	switch {
	case err != nil:
		return wrong("Addr %q is not an address (host:port): %w", c.Addr, err)
	case c.Token == "" && !at.IP.IsLoopback():
		return wrong("Addr %q can be reached from other machines, so a Token is needed: give one, or listen on 127.0.0.1", c.Addr)
	case c.Token != "" && (len(c.Token) < minToken || len(c.Token) > maxToken):
		return wrong("Token has %d characters: give %d to %d", len(c.Token), minToken, maxToken)
	case c.Streams < 0:
		return wrong("Streams is %d: give a number above 0, or leave it out", c.Streams)
	case strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return wrong("Token has a character that no link can carry: use printable ASCII without spaces")
	case slices.Contains(c.Hosts, ""):
		return wrong("Hosts has an empty name: give names as in the Host header")
	}
	c.Streams = cmp.Or(c.Streams, 32)
	return c, at, nil
}

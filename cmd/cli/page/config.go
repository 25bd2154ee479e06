package page

import (
	"errors"
	"fmt"
	"net"
)

// ErrConfig is wrapped by every error about a Config; it names the field.
var ErrConfig = errors.New("page: the configuration is wrong")

// Config says where pages are served and to whom.
type Config struct {
	// Addr is where to listen, host:port. "": a free port of 127.0.0.1. A host that is not loopback, none as in ":8080"
	// included, demands a Token.
	Addr string
	// Token is what a visitor must show, 16 to 512 printable ASCII characters without spaces. "": nothing is asked.
	Token string
	// Hosts are further names under which visitors reach the server, as they stand in the Host header: "game.example.net"
	// behind a proxy, "game.example.net:8080" without. The address itself and localhost need not be named.
	Hosts []string
	// Streams bounds the streams at once; one more is refused with 503. 0: 32.
	Streams int
}

// Reachable reports whether an address that is listened on can be reached from other machines: New demands a token for it.
// An address that is none cannot.
func Reachable(addr string) bool {
	at, err := net.ResolveTCPAddr("tcp", addr)
	return err == nil && !at.IP.IsLoopback()
}

const minToken, maxToken = 16, 512

// withDefaults checks the configuration and fills in what was left out.
func (c Config) withDefaults() (Config, *net.TCPAddr, error) {
	wrong := func(format string, args ...any) (Config, *net.TCPAddr, error) {
		return c, nil, fmt.Errorf("%w: %w", ErrConfig, fmt.Errorf(format, args...))
	}
	if c.Addr == "" {
		c.Addr = "127.0.0.1:0"
	}
	at, err := net.ResolveTCPAddr("tcp", c.Addr)
	switch {
	case err != nil:
		return wrong("Addr %q is no address: give host:port (%w)", c.Addr, err)
	case c.Token == "" && !at.IP.IsLoopback():
		return wrong("Addr %q can be reached from other machines, so a Token is needed: give one, or listen on 127.0.0.1", c.Addr)
	case c.Token != "" && (len(c.Token) < minToken || len(c.Token) > maxToken):
		return wrong("Token has %d characters: give %d to %d", len(c.Token), minToken, maxToken)
	case c.Streams < 0:
		return wrong("Streams is %d: give a number above 0, or leave it out", c.Streams)
	}
	for _, r := range c.Token {
		if r <= ' ' || r > '~' {
			return wrong("Token has a character that no link can carry: use printable ASCII without spaces")
		}
	}
	for _, h := range c.Hosts {
		if h == "" {
			return wrong("Hosts has an empty name: give names as they stand in the Host header")
		}
	}
	if c.Streams == 0 {
		c.Streams = 32
	}
	return c, at, nil
}

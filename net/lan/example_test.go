package lan_test

import (
	"fmt"
	"net/netip"
	"time"

	"tendon/net/lan"
)

// A server gives a token to a client of its network. Server.Serve and Join do the same over sockets.
func Example() {
	var shown lan.Words
	s, err := lan.NewServer(lan.ServerConfig{
		Describe: func() lan.Description { return lan.Description{Name: "attic", Game: "dots"} },
		Mint:     func(netip.AddrPort) ([]byte, error) { return []byte("a connect token"), nil },
		Admitted: func(_ netip.AddrPort, w lan.Words) { shown = w },
	})
	if err != nil {
		panic(err)
	}
	client := netip.MustParseAddrPort("192.168.0.7:50000")
	x, err := lan.NewExchange()
	if err != nil {
		panic(err)
	}
	for done := false; !done; {
		answer := s.Answer(nil, x.Request(), client, time.Now())
		if _, done, err = x.Receive(answer); err != nil {
			panic(err)
		}
	}
	fmt.Printf("%s; the words are equal: %v\n", x.Token, x.Words == shown)
	// Output: a connect token; the words are equal: true
}

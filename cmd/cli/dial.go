package cli

import (
	"net/netip"
	"time"

	"tendon/net/client"
	"tendon/net/server"
)

// dial returns a client for a seat of a room of this host. at is the address of the server or of a proxy before it.
func (h *host) dial(at netip.AddrPort, pass server.Pass, c client.Config) (*client.Client, error) {
	token, err := h.ticket(at, pass, time.Hour)
	if err != nil {
		return nil, err
	}
	c.Game, c.Strategies = h.game, strategies
	return client.Dial(client.DialConfig{Token: token, Config: c})
}

package host

import (
	"net/netip"
	"time"

	"tendon/cmd/cli/internal/syncflags"
	"tendon/net/client"
	"tendon/net/server"
)

// Dial returns a client for a seat of a room of this host. at is the address of the server or of a proxy before it.
func (h *Host) Dial(at netip.AddrPort, pass server.Pass, c client.Config) (*client.Client, error) {
	token, err := h.Ticket(at, pass, time.Hour)
	if err != nil {
		return nil, err
	}
	c.Game, c.Strategies = h.Game, syncflags.All
	return client.Dial(client.DialConfig{Token: token, Config: c})
}

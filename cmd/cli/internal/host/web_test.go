package host

import (
	"net/netip"
	"slices"
	"testing"

	"tendon/cmd/cli/internal/syncflags"
	"tendon/net/client"
	"tendon/net/cluster"
	"tendon/net/server"
	"tendon/net/web"
)

// browser returns a client of the room duel that plays as a browser does, over one transport: 0 WebTransport, 1 WebSocket. It receives the
// addresses of the other servers from the server only.
func (m *members) browser(h *Host, transport int) *client.Client {
	m.t.Helper()
	token, err := h.Token(h.PublicAddr, server.Pass{Room: "duel", Seat: transport})
	if err != nil {
		m.t.Fatal(err)
	}
	d := &web.Dialer{Targets: web.Targets(h.config.Cluster.own.Web, m.web.Hashes())}
	if transport == 1 {
		d.Targets[0].Hashes = []web.Hash{{1}} // WebTransport fails, as where UDP is blocked
	}
	c, err := client.Dial(client.DialConfig{Token: token,
		Listen: func(to netip.AddrPort) (client.Socket, error) { return d.Dial(to) },
		Config: client.Config{Name: "browser", Game: h.app.Game, Strategies: syncflags.All, ReceiveEndpoints: func(list []byte) {
			if err := d.AddEndpoints(list); err != nil {
				m.t.Error(err)
			}
		}}})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(c.Close)
	return c
}

// Browsers follow their room to another server, as the other clients do: when it moves, and when its server has ended.
func TestBrowsersFollowTheirRoom(t *testing.T) {
	certificates, err := web.SelfSigned(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &members{t: t, records: map[string]bool{}, web: certificates}
	one, two, three := m.join(4), m.join(8), m.join(4)
	for _, h := range []*Host{one, two, three} {
		m.observes(h, 2)
	}
	list := [2]*client.Client{m.browser(one, 0), m.browser(one, 1)}
	live := func() bool {
		return !slices.ContainsFunc(list[:], func(c *client.Client) bool { return c.State() != client.Live || c.Stats().Waiting })
	}
	m.play(list, "both browsers play", live)
	most, early := 0, 0 // browsers that waited on the other server; replies while no server had the room, before both browsers had waited
	m.ask = func(_ string, reply cluster.MoveStatus) (cluster.MoveStatus, error) {
		if most = max(most, reply.Waiting); most < 2 && !reply.Open && one.OpenRooms() == 0 {
			early++
		}
		return reply, nil
	}
	drained := make(chan error, 1)
	go func() { drained <- one.Drain(t.Context(), 0) }()
	m.play(list, "the room has moved", func() bool { return len(drained) > 0 })
	if err := <-drained; err != nil {
		t.Fatal(err)
	}
	goesOn := func(on string) {
		t.Helper()
		at := list[0].Stats().Strategy.Confirmed
		m.play(list, "the match continues on "+on, func() bool { return live() && list[0].Stats().Strategy.Confirmed > at+60 })
	}
	goesOn("the second server")
	if most != 2 || early > 0 || one.OpenRooms() != 0 || two.OpenRooms() != 1 {
		t.Errorf("%d browsers waited, the room moved %d times too early; %d and %d rooms", most, early, one.OpenRooms(), two.OpenRooms())
	}
	if s := two.config.Web.(*web.Listener).Stats(); s.Sockets != 1 || s.Opened != 2 {
		t.Errorf("the second server has %d sessions, %d of them WebSockets: the browsers do not keep their transports", s.Opened, s.Sockets)
	}
	for i, c := range list {
		if s := c.Stats(); s.Reconnects != 1 || c.Seat() != i {
			t.Errorf("browser %d reconnected %d times, seat %d", i, s.Reconnects, c.Seat())
		}
	}
	stopped := make(chan bool, 1)
	go func() {
		m.stops[two]()
		stopped <- true
	}()
	m.play(list, "the second server has ended", func() bool { return len(stopped) > 0 })
	goesOn("the third server")
	if three.OpenRooms() != 1 || list[0].Seat() != 0 || list[1].Seat() != 1 {
		t.Errorf("%d rooms; seats %d and %d", three.OpenRooms(), list[0].Seat(), list[1].Seat())
	}
}

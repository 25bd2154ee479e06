package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"tendon/cmd/arena/rules"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/host"
	"tendon/cmd/cli/page/pagetest"
	"tendon/cmd/cli/playpage"
	"tendon/net/cluster"
	"tendon/net/netcode"
	"tendon/net/server"
	"tendon/net/web"
	"tendon/systems/relay"
)

// fleet is a cluster of hosts with listeners for browsers, in this process.
type fleet struct {
	store        cluster.Memory
	certificates *web.Certificates
	mu           sync.Mutex
	hosts        map[string]*host.Host // by ID
}

// Take is that of cluster.TokenStore.
func (f *fleet) Take(context.Context, string, string, time.Time) (bool, error) { return true, nil }

// Since is that of cluster.TokenStore.
func (f *fleet) Since() time.Time { return time.Time{} }

// ask is host.ClusterConfig.Ask.
func (f *fleet) ask(_ context.Context, to, from, room string) (cluster.MoveStatus, error) {
	f.mu.Lock()
	h := f.hosts[to]
	f.mu.Unlock()
	return h.MoveStatus(from, room), nil
}

// start starts a host, which accepts pages of an origin. It returns the address of its listener.
func (f *fleet) start(t *testing.T, origin string) (h *host.Host, at string) {
	t.Helper()
	l, err := web.Listen(web.Config{Address: "127.0.0.1:0", Certificates: f.certificates, Origins: []string{origin}})
	if err != nil {
		t.Fatal(err)
	}
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	a := app.New(t.Context(), rules.Game(), io.Discard, io.Discard)
	c := host.Config{Config: server.Config{Socket: socket, Web: l, MaxRooms: 4, Workers: 1, OnStop: server.Keep, Keys: []netcode.Key{standKey}}, Flags: &host.Flags{}, Strategy: relay.Strategy}
	at = l.LocalAddr().String()
	cc := host.ClusterConfig{Store: &f.store, Tokens: f, Addresses: []netip.AddrPort{socket.LocalAddr().(*net.UDPAddr).AddrPort()}, Ask: f.ask, Web: at, WebHashes: f.certificates.Hashes}
	if err := c.JoinCluster(a, cc); err != nil {
		t.Fatal(err)
	}
	if h, err = host.Start(a, c); err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hosts[c.Cluster.ID()] = h
	t.Cleanup(func() {
		if err := errors.Join(h.Stop(), c.Journals.Close()); err != nil {
			t.Error(err)
		}
		c.Cluster.Leave()
	})
	return h, at
}

// A browser plays on while its room moves to another server, and the page can be loaded again there.
func TestABrowserFollowsItsRoom(t *testing.T) {
	pagetest.Chromium(t)
	dir, _ := site(t, "arena")
	pages := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer pages.Close()
	for _, transport := range []string{"WebTransport", "WebSocket"} {
		t.Run(transport, func(t *testing.T) {
			certificates, err := web.SelfSigned(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			f := &fleet{certificates: certificates, hosts: map[string]*host.Host{}}
			one, at := f.start(t, pages.URL)
			two, _ := f.start(t, pages.URL)
			token, err := one.Token(one.PublicAddr, server.Pass{Room: "duel", Seat: server.AnySeat})
			if err != nil {
				t.Fatal(err)
			}
			tab := open(t)
			if transport == "WebSocket" {
				tab.Before(`delete globalThis.WebTransport`)
			}
			tab.Go(playpage.Link(token, at, pages.URL+"/", certificates.Hashes()))
			tab.WaitFor(playing)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for one.Drain(ctx, 0) != nil { // until it has observed the other server
				if ctx.Err() != nil {
					t.Fatal("the room has not moved")
				}
				time.Sleep(10 * time.Millisecond)
			}
			if one.OpenRooms() != 0 || two.OpenRooms() != 1 {
				t.Errorf("%d and %d rooms", one.OpenRooms(), two.OpenRooms())
			}
			var confirmed float64
			tab.Eval(`tendonStats.confirmed`, &confirmed)
			tab.WaitFor(fmt.Sprintf(`tendonStats.state === "live" && tendonStats.confirmed > %.0f && tendonStats.reconnects === 1`, confirmed+60))
			tab.Eval(`location.reload()`, nil)
			tab.WaitFor(playing + fmt.Sprintf(` && tendonStats.confirmed > %.0f`, confirmed))
			if one.OpenRooms() != 0 || two.OpenRooms() != 1 {
				t.Errorf("after a reload there are %d and %d rooms", one.OpenRooms(), two.OpenRooms())
			}
		})
	}
}

package serve

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/host"
	"tendon/net/lan"
	"tendon/net/server"
)

// lanAddresses returns the addresses of this host in its local networks.
func lanAddresses(port uint16) (list []netip.AddrPort) {
	for _, n := range lan.Networks() {
		list = append(list, netip.AddrPortFrom(n.Addr(), port))
	}
	return list[:min(len(list), maxAddresses)]
}

const maxAddresses = 8 // of a host, in tokens

// nearest returns the address that a client on a local network reaches.
func nearest(public []netip.AddrPort, client netip.Addr) netip.AddrPort {
	for _, n := range lan.Networks() {
		for _, p := range public {
			if n.Contains(client) && p.Addr() == n.Addr() {
				return p
			}
		}
	}
	for _, p := range public {
		if p.Addr().IsLoopback() == client.IsLoopback() {
			return p
		}
	}
	return public[0]
}

// openLAN begins to answer clients of the local network.
func (v *Verb) openLAN(a *app.App, h *host.Host, public []netip.AddrPort) (stop func(), err error) {
	at, err := net.ResolveUDPAddr("udp4", v.LANAddress)
	if err != nil {
		return nil, fmt.Errorf("--lan-address %q is not an address (host:port or :port): %w", v.LANAddress, err)
	}
	if len(public) == 0 {
		public = []netip.AddrPort{h.PublicAddr}
	}
	name, _ := os.Hostname()
	s, err := lan.NewServer(lan.ServerConfig{
		Describe: func() lan.Description {
			players := 0
			for _, r := range h.Stats().Table {
				players += r.Players
			}
			return lan.Description{Name: name, Game: strings.TrimSpace(a.Game.Name + " " + a.Game.Version), Fingerprint: a.Game.Fingerprint(),
				Strategy: v.Sync, Players: players, Places: a.Game.MaxPlayers}
		},
		Mint: func(client netip.AddrPort) ([]byte, error) {
			return h.Token(nearest(public, client.Addr()), server.Pass{Room: "main", Seat: server.AnySeat})
		},
		Admitted: func(client netip.AddrPort, words lan.Words) {
			a.Logf("%v may join; code words: %v", client.Addr(), words)
			a.Emit("lan_admitted", app.Fields{"address": client, "words": words.String()})
		},
	})
	if err != nil {
		return nil, err
	}
	socket, err := net.ListenUDP("udp4", at)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("--lan: %v is in use: another server of this computer answers there; stop it, or choose another --lan-address", v.LANAddress)
	case err != nil:
		return nil, fmt.Errorf("--lan: %w; choose another --lan-address", err)
	}
	done := make(chan struct{})
	go func() { s.Serve(socket); close(done) }()
	who := "on this network"
	if netip.MustParseAddrPort(h.Addr().String()).Addr().IsLoopback() {
		who = "on this computer alone, since --listen is a loopback address"
	}
	a.Print("open to every client " + who + ": no token is needed; join with\n  " + a.Program + " join" + v.lanFlag(socket.LocalAddr()) + "\n")
	a.Emit("lan", app.Fields{"address": socket.LocalAddr().String()})
	return func() { socket.Close(); <-done }, nil
}

// lanFlag returns the flag with which join finds this server, "" if it needs none.
func (v *Verb) lanFlag(at net.Addr) string {
	if strings.HasSuffix(v.LANAddress, fmt.Sprint(":", lan.Port)) {
		return ""
	}
	return " --lan-address " + at.String()
}

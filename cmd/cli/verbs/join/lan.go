package join

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/tokens"
	"tendon/net/lan"
	"tendon/net/netcode"
)

const (
	findTime  = time.Second     // in which servers answer
	admitTime = 5 * time.Second // in which a server gives a token
)

// findServer chooses a server of the local network and asks it for a token. It sets Addr and Token.
func (v *Verb) findServer(a *app.App) error {
	if v.Token != "" || v.Log != "" {
		return errors.New("\"\" is not an address (host:port): give that of the server; those of the local network need no --token and have no --log")
	}
	to := lan.Broadcast()
	if v.LANAddress != "" {
		at, err := tokens.Address(v.LANAddress)
		if err != nil {
			return fmt.Errorf("--lan-address: %w", err)
		}
		to = []netip.AddrPort{at}
	}
	socket, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return err
	}
	list, err := lan.Find(a.Ctx, socket, to, findTime)
	if err != nil {
		return fmt.Errorf("the local network cannot be asked for servers: %w", err)
	}
	if len(list) > 0 {
		a.Print(serverTable(a, list))
	}
	chosen, err := choose(list, a.Game.Fingerprint(), v.Server)
	if err != nil {
		return err
	}
	return v.admit(a, chosen)
}

// serverTable returns the table of the servers that answered, and emits them.
func serverTable(a *app.App, list []lan.Found) string {
	t := app.NewTable("servers of this network, open to every client on it", "server", "address", "game", "players", "strategy", "rules")
	t.Configs = []table.ColumnConfig{{Name: "server", WidthMax: 12}, {Name: "game", WidthMax: 13}}
	for _, f := range list {
		rules := "same"
		if f.Fingerprint != a.Game.Fingerprint() {
			rules = "other"
		}
		t.AppendRow(table.Row{f.Name, f.Address.Addr(), f.Game, fmt.Sprintf("%d of %d", f.Players, f.Places), f.Strategy, rules})
		a.Emit("lan_server", app.Fields{"server": f.Name, "address": f.Address, "game": f.Game, "players": f.Players, "places": f.Places,
			"strategy": f.Strategy, "same_rules": rules == "same"})
	}
	return t.Text(false)
}

// failure is an error with exit code 1.
type failure string

func failed(format string, args ...any) error { return failure(fmt.Sprintf(format, args...)) }

func (f failure) Error() string      { return string(f) }
func (failure) Is(target error) bool { return target == app.ErrFailed }

// choose returns the server to join: the only one with the same rules, or that of a name or address.
func choose(list []lan.Found, fingerprint uint64, name string) (chosen lan.Found, err error) {
	var fit []lan.Found
	names := []string{}
	for _, f := range list {
		if f.Fingerprint == fingerprint && (name == "" || f.Name == name || f.Address.String() == name || f.Address.Addr().String() == name) {
			fit = append(fit, f)
			names = append(names, f.Name)
		}
	}
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) > 1 && name == "":
		return chosen, fmt.Errorf("%d servers answer: choose one with --server: %s", len(fit), strings.Join(names, ", "))
	case len(fit) > 1:
		return chosen, fmt.Errorf("%d servers have the name %s: give --server its address", len(fit), name)
	case len(list) > 0 && name == "":
		return chosen, failed("the servers that answer have another game or other rules: run the same version as one of them")
	case len(list) > 0:
		return chosen, failed("no server with the same rules has the name or address %s: choose one of the list", name)
	}
	return chosen, failed("no server of this network answers: start one with serve --lan on a computer of this network, "+
		"and allow UDP port %d in its firewall. Or give an address and a --token", lan.Port)
}

// admit asks a server for a token.
func (v *Verb) admit(a *app.App, f lan.Found) error {
	socket, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(a.Ctx)
	defer cancel()
	token, words, err := lan.Join(ctx, socket, f.Address, admitTime)
	if err != nil {
		return failed("%s at %v gives no token: %v; try again", f.Name, f.Address, err)
	}
	token = append(token, make([]byte, netcode.TokenSize-len(token))...)
	parsed, err := netcode.ParseConnectToken(token)
	if err != nil {
		return failed("%s at %v gives a token that is not valid: %v; try another server", f.Name, f.Address, err)
	}
	v.Addr, v.Token = parsed.Servers()[0].String(), tokens.Text(token)
	a.Print(fmt.Sprintf("%s is open to every client on this network; code words: %v, as on the server\n", f.Name, words))
	a.Emit("lan_joining", app.Fields{"server": f.Name, "address": v.Addr, "words": words.String()})
	return nil
}

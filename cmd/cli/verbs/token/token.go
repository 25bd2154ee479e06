// Package token is the verb that mints connect tokens.
package token

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/tokens"
	"tendon/net/netcode"
	"tendon/net/server"
	"tendon/systems"
)

// Verb mints connect tokens, as a game's backend does after it has authenticated a player.
type Verb struct {
	Addr     string        `arg:"" help:"Address of the server as clients see it, as host:port."`
	KeyFile  string        `required:"" type:"path" help:"Key file of the server. --new-key generates it."`
	NewKey   bool          `help:"Generate the key file first."`
	Room     string        `default:"main" help:"Room of the token."`
	Seat     int           `default:"-1" help:"Seat of the player; -1: any free seat."`
	Role     string        `enum:"player,spectator" default:"player" help:"Role of the holder: player or spectator."`
	Life     time.Duration `default:"1h" help:"Lifetime of the token."`
	ClientID uint64        `help:"Number of the player: a connection with the same number takes over its seat. Default: a random one."`
	Name     string        `help:"Name that other players see, at most 32 bytes."`
}

// Help explains the verb.
func (Verb) Help() string {
	return `A game's backend mints a token after it has authenticated a player. A token is good for one connection. Send it to one
client over a private channel.

Examples:
  token 203.0.113.7:7777 --key-file server.key --new-key
  token 203.0.113.7:7777 --key-file server.key --room duel-17 --seat 0 --life 10m
  token 203.0.113.7:7777 --key-file server.key --role spectator`
}

var roles = map[string]systems.Role{"player": systems.RolePlayer, "spectator": systems.RoleSpectator}

// Run mints one token.
func (v *Verb) Run(a *app.App) error {
	addr, err := tokens.Address(v.Addr)
	if err != nil {
		return err
	}
	if v.Life < time.Second {
		return fmt.Errorf("--life %v: give at least 1s", v.Life)
	}
	if v.Seat >= a.Game.MaxPlayers {
		return fmt.Errorf("--seat %d: the game has seats 0 to %d", v.Seat, a.Game.MaxPlayers-1)
	}
	ticket := server.Ticket{
		ProtocolID: server.ProtocolID(a.Game.Name), Key: netcode.Key{1}, ClientID: v.ClientID, Addresses: []netip.AddrPort{addr},
		Pass: server.Pass{Room: v.Room, Seat: v.Seat, Role: roles[v.Role], Name: v.Name}, Lifetime: v.Life,
	}
	// A token that cannot be minted must not leave a new key file behind, so it is minted with any key first.
	if _, err := server.Mint(ticket, time.Now()); err != nil {
		return err
	}
	dir := filepath.Dir(v.KeyFile)
	switch {
	case !v.NewKey:
		ticket.Key, err = server.LoadKey(v.KeyFile)
	case !app.IsDirectory(dir):
		err = fmt.Errorf("the key file cannot be made: %s is not a directory; choose another --key-file", dir)
	default:
		ticket.Key, err = server.GenerateKey(v.KeyFile)
	}
	if err != nil {
		return err
	}
	token, err := server.Mint(ticket, time.Now())
	if err != nil {
		return err
	}
	a.Logf("a token for room %s, role %s, seat %d, good for one connection to %v within %v", v.Room, v.Role, v.Seat, addr, v.Life)
	a.Print(tokens.Text(token) + "\n")
	a.Emit("token", app.Fields{"token": tokens.Text(token), "address": addr, "room": v.Room, "seat": v.Seat, "role": v.Role,
		"expires": time.Now().Add(v.Life).UTC().Format(time.RFC3339)})
	return nil
}

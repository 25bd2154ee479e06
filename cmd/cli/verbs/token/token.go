// Package token is the verb that mints connect tokens.
package token

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/tokens"
	"tendon/ecs/image"
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
	ClientID uint64        `help:"Number of the player: a connection with the same number takes over its seat. 0 or none: a random one, which is printed."`
	Out      string        `type:"path" help:"Write the token to this new file, which only you may read, instead of printing it."`
	Name     string        `help:"Name that other players see, at most 32 bytes."`
	Card     string        `help:"Data of the player's card, which the game's Join receives: at most 160 bytes of text, or @FILE."`
}

// Help explains the verb.
func (Verb) Help() string {
	return `A game's backend mints a token after it has authenticated a player. A token is good for one connection. Send it to one
client over a private channel. A server without --journal refuses tokens minted before its start. With --journal it
refuses those minted before its first start.

The client id is printed too, on standard error; kick and ban need it. The token is printed, or with --out written to a file for join --token @FILE. Other users of the machine can read an
argument, so join also reads the token from standard input (--token -) and from TENDON_TOKEN.

Examples:
  token 203.0.113.7:7777 --key-file server.key --new-key
  token 203.0.113.7:7777 --key-file server.key --room duel-17 --seat 0
  token 203.0.113.7:7777 --key-file server.key --out ann.token
  token 203.0.113.7:7777 --key-file server.key --name ann --card red
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
	if v.Seat < server.AnySeat || v.Seat >= a.Game.MaxPlayers {
		return fmt.Errorf("--seat %d: give 0 to %d, or -1 for any free seat", v.Seat, a.Game.MaxPlayers-1)
	}
	card := []byte(v.Card)
	if file, ok := strings.CutPrefix(v.Card, "@"); ok {
		if card, err = readCard(file); err != nil {
			return err
		}
	}
	ticket := server.Ticket{
		ProtocolID: server.ProtocolID(a.Game.Name), Key: netcode.Key{1}, ClientID: cmp.Or(v.ClientID, rand.Uint64(), 1), Addresses: []netip.AddrPort{addr},
		Pass: server.Pass{Room: v.Room, Seat: v.Seat, Role: roles[v.Role], Name: v.Name, Data: card}, Lifetime: v.Life,
	}
	// A token that cannot be minted must not leave a new key file behind, so it is minted with any key first.
	if _, err := server.Mint(ticket, time.Now()); err != nil {
		return err
	}
	if v.Out != "" {
		if _, err := os.Lstat(v.Out); err == nil {
			return fmt.Errorf("--out %s exists: name another file, or remove it", v.Out)
		}
		if dir := filepath.Dir(v.Out); !app.IsDirectory(dir) {
			return fmt.Errorf("the token cannot be written: %s is not a directory; choose another --out", dir)
		}
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
	if v.NewKey {
		a.Logf("the key is new: a server refuses this token if its record of used tokens begins later; then mint another one after its start")
	}
	seat := "any seat"
	if v.Seat >= 0 {
		seat = fmt.Sprintf("seat %d", v.Seat)
	}
	a.Logf("a token of client %d for room %s, role %s, %s, good for one connection to %v within %v", ticket.ClientID, v.Room, v.Role, seat, addr, v.Life)
	fields := app.Fields{"client_id": strconv.FormatUint(ticket.ClientID, 10), "address": addr, "room": v.Room, "seat": v.Seat, "role": v.Role,
		"expires": time.Now().Add(v.Life).UTC().Format(time.RFC3339)}
	if v.Out == "" {
		a.Print(tokens.Text(token) + "\n")
		fields["token"] = tokens.Text(token)
	} else {
		if err := tokens.Write(v.Out, token); err != nil {
			return fmt.Errorf("the token cannot be written: %w; choose another --out", err)
		}
		fields["file"] = v.Out
		a.Print(fmt.Sprintf("join with\n  %s join %v --token %s\n", a.Program, addr, app.Quoted("@"+v.Out)))
	}
	a.Emit("token", fields)
	return nil
}

// readCard reads the data of a card from a file. It reads no more than a card holds.
func readCard(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("--card @%s: %w", name, err)
	}
	defer f.Close()
	card, err := io.ReadAll(io.LimitReader(f, image.MaxCardData+1))
	if err != nil {
		return nil, fmt.Errorf("--card @%s: %w", name, err)
	}
	return card, nil
}

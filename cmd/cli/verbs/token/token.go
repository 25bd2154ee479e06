// Package token is the verb that mints connect tokens.
package token

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/tokens"
	"tendon/cmd/cli/playpage"
	"tendon/ecs/image"
	"tendon/net/netcode"
	"tendon/net/server"
	"tendon/net/web"
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
	webFlags `embed:""`

	Card string `help:"Data of the player's card, which the game's Join receives: at most 160 bytes of text, or @FILE."`
}

// webFlags are the flags for links that browsers open.
type webFlags struct {
	Web             string `group:"Browsers" placeholder:"HOST:PORT" help:"Also print a link for a browser. The value is the public address of the server's --web."`
	WebPage         string `group:"Browsers" placeholder:"URL" help:"Address of the page, if it is on another server: see web --out. Default: the server of --web."`
	WebCertificates string `group:"Browsers" type:"path" placeholder:"DIR" help:"Folder of the self-signed certificates of the server, as serve prints it. The link contains their hashes. Omit it for a server with --web-cert."`
}

// link returns the link of a token, "" without --web.
func (f *webFlags) link(token []byte) (string, error) {
	if f.Web == "" {
		if f.WebPage+f.WebCertificates != "" {
			return "", errors.New("--web-page and --web-certificates go with --web: add the address of the server's --web")
		}
		return "", nil
	}
	host, port, err := net.SplitHostPort(f.Web)
	if err != nil || host == "" || port == "" {
		return "", fmt.Errorf("--web %q is not an address (host:port): give one such as play.example.net:7778", f.Web)
	}
	if u, err := url.Parse(f.WebPage); f.WebPage != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.Fragment != "") {
		return "", fmt.Errorf("--web-page %q is not the address of a page: give one such as https://example.com/arena/", f.WebPage)
	}
	var hashes []web.Hash
	if f.WebCertificates != "" {
		if hashes, err = web.ReadHashes(f.WebCertificates); err != nil {
			return "", fmt.Errorf("--web-certificates: %w", err)
		}
	}
	return playpage.Link(token, f.Web, f.WebPage, hashes), nil
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
  token 203.0.113.7:7777 --key-file server.key --role spectator
  token 203.0.113.7:7777 --key-file server.key --web play.example.net:7778`
}

var roles = map[string]systems.Role{"player": systems.RolePlayer, "spectator": systems.RoleSpectator}

// Run mints one token.
func (v *Verb) Run(a *app.App) error {
	ticket, err := v.ticket(a)
	if err != nil {
		return err
	}
	// A token that cannot be minted must not leave a new key file behind, so it is minted with any key first.
	trial, err := server.Mint(ticket, time.Now())
	if err != nil {
		return err
	}
	if _, err := v.link(trial); err != nil {
		return err
	}
	if err := v.checkOut(); err != nil {
		return err
	}
	if ticket.Key, err = v.key(); err != nil {
		return err
	}
	token, err := server.Mint(ticket, time.Now())
	if err != nil {
		return err
	}
	if v.NewKey {
		a.Logf("the key is new: a server refuses this token if its record of used tokens begins later; then mint another one after its start")
	}
	seat, addr := "any seat", ticket.Addresses[0]
	if v.Seat >= 0 {
		seat = fmt.Sprintf("seat %d", v.Seat)
	}
	if v.Out != "" {
		if err := tokens.Write(v.Out, token); err != nil {
			return fmt.Errorf("the token cannot be written: %w; choose another --out", err)
		}
	}
	a.Logf("a token of client %d for room %s, role %s, %s, good for one connection to %v within %v", ticket.ClientID, v.Room, v.Role, seat, addr, v.Life)
	fields := app.Fields{"client_id": strconv.FormatUint(ticket.ClientID, 10), "address": addr, "room": v.Room, "seat": v.Seat, "role": v.Role,
		"expires": time.Now().Add(v.Life).UTC().Format(time.RFC3339)}
	if v.Out == "" {
		a.Print(tokens.Text(token) + "\n")
		fields["token"] = tokens.Text(token)
	} else {
		fields["file"] = v.Out
		a.Print(fmt.Sprintf("join with\n  %s join %v --token %s\n", a.Program, addr, app.Quoted("@"+v.Out)))
	}
	link, err := v.link(token)
	if err != nil {
		return err
	}
	if link != "" {
		fields["link"] = link
		a.Print("or open this link in a browser, with the same token:\n  " + link + "\n")
	}
	a.Emit("token", fields)
	return nil
}

// ticket returns the content of the token, with a key that must be replaced.
func (v *Verb) ticket(a *app.App) (t server.Ticket, err error) {
	addr, err := tokens.Address(v.Addr)
	if err != nil {
		return t, err
	}
	if v.Life < time.Second {
		return t, fmt.Errorf("--life %v: give at least 1s", v.Life)
	}
	if v.Seat < server.AnySeat || v.Seat >= a.Game.MaxPlayers {
		return t, fmt.Errorf("--seat %d: give 0 to %d, or -1 for any free seat", v.Seat, a.Game.MaxPlayers-1)
	}
	card := []byte(v.Card)
	if file, ok := strings.CutPrefix(v.Card, "@"); ok {
		if card, err = readCard(file); err != nil {
			return t, err
		}
	}
	return server.Ticket{
		ProtocolID: server.ProtocolID(a.Game.Name), Key: netcode.Key{1}, ClientID: cmp.Or(v.ClientID, rand.Uint64(), 1), Addresses: []netip.AddrPort{addr},
		Pass: server.Pass{Room: v.Room, Seat: v.Seat, Role: roles[v.Role], Name: v.Name, Data: card}, Lifetime: v.Life,
	}, nil
}

// checkOut refuses a file for the token that exists, or that cannot be made.
func (v *Verb) checkOut() error {
	if v.Out == "" {
		return nil
	}
	if _, err := os.Lstat(v.Out); err == nil {
		return fmt.Errorf("--out %s exists: name another file, or remove it", v.Out)
	}
	if dir := filepath.Dir(v.Out); !app.IsDirectory(dir) {
		return fmt.Errorf("the token cannot be written: %s is not a directory; choose another --out", dir)
	}
	return nil
}

// key reads the key, or makes it.
func (v *Verb) key() (netcode.Key, error) {
	if !v.NewKey {
		return server.LoadKey(v.KeyFile)
	}
	if dir := filepath.Dir(v.KeyFile); !app.IsDirectory(dir) {
		return netcode.Key{}, fmt.Errorf("the key file cannot be made: %s is not a directory; choose another --key-file", dir)
	}
	return server.GenerateKey(v.KeyFile)
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

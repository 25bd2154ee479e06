package cli

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tendon/net/netcode"
	"tendon/net/server"
	"tendon/systems"
)

// tokenVerb mints connect tokens, as a game's backend does after it has authenticated a player.
type tokenVerb struct {
	Addr     string        `arg:"" help:"Address of the server as clients see it, as host:port."`
	KeyFile  string        `required:"" type:"path" help:"Key file of the server. --new-key generates it."`
	NewKey   bool          `help:"Generate the key file first."`
	Room     string        `default:"main" help:"Room of the token."`
	Seat     int           `default:"-1" help:"Seat of the player; -1: any free seat."`
	Role     string        `enum:"player,spectator" default:"player" help:"Role of the holder: player or spectator."`
	Life     time.Duration `default:"1h" help:"Lifetime of the token."`
	ClientID uint64        `help:"Number of the player. Default: a random one."`
	Name     string        `help:"Name that other players see."`
}

// Help explains the verb.
func (tokenVerb) Help() string {
	return `A game's backend mints a token after it has authenticated a player. A token is good for one connection. Send it to one
client over a private channel.

Examples:
  token 203.0.113.7:7777 --key-file server.key --new-key
  token 203.0.113.7:7777 --key-file server.key --room duel-17 --seat 0 --life 10m
  token 203.0.113.7:7777 --key-file server.key --role spectator`
}

// Run mints one token.
func (v *tokenVerb) Run(a *app) error {
	addr, err := resolve(v.Addr)
	if err != nil {
		return err
	}
	if v.Life < time.Second {
		return fmt.Errorf("--life %v: give at least 1s", v.Life)
	}
	if v.Seat >= a.game.MaxPlayers {
		return fmt.Errorf("--seat %d: the game has seats 0 to %d", v.Seat, a.game.MaxPlayers-1)
	}
	role := systems.RolePlayer
	if v.Role == "spectator" {
		role = systems.RoleSpectator
	}
	ticket := server.Ticket{
		ProtocolID: server.ProtocolID(a.game.Name), Key: randomKey(), ClientID: v.ClientID, Addresses: []netip.AddrPort{addr},
		Pass: server.Pass{Room: v.Room, Seat: v.Seat, Role: role, Name: v.Name}, Lifetime: v.Life,
	}
	// A token that cannot be minted must not leave a new key file behind, so it is minted with a random key first.
	if _, err := server.Mint(ticket, time.Now()); err != nil {
		return err
	}
	if ticket.Key, err = v.key(); err != nil {
		return err
	}
	token, err := server.Mint(ticket, time.Now())
	if err != nil {
		return err
	}
	a.say("a token for room %s, role %s, seat %d, good for one connection to %v within %v", v.Room, v.Role, v.Seat, addr, v.Life)
	a.tell(tokenText(token) + "\n")
	a.emit("token", fields{"token": tokenText(token), "address": addr, "room": v.Room, "seat": v.Seat, "role": v.Role,
		"expires": time.Now().Add(v.Life).UTC().Format(time.RFC3339)})
	return nil
}

// key loads the key file, or generates it with --new-key.
func (v *tokenVerb) key() (netcode.Key, error) {
	if !v.NewKey {
		return loadKey(v.KeyFile)
	}
	if dir := filepath.Dir(v.KeyFile); !isDirectory(dir) {
		return netcode.Key{}, fmt.Errorf("the key file cannot be made: %s is no directory; choose another --key-file", dir)
	}
	return server.GenerateKey(v.KeyFile)
}

// loadKey reads a key file. Its errors name the verb that generates one; those of net/server cannot.
func loadKey(path string) (netcode.Key, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() == 0 {
		return netcode.Key{}, fmt.Errorf("the key file %s is empty: a key is 32 bytes or 64 hexadecimal digits", path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return netcode.Key{}, fmt.Errorf("the key file %s does not exist: make it with token ADDR --key-file %s --new-key, or name another", path, quoted(path))
	}
	return server.LoadKey(path)
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// tokenText encodes a token for a command line, without the zeros at its end.
func tokenText(token []byte) string {
	return base64.RawURLEncoding.EncodeToString(bytes.TrimRight(token, "\x00"))
}

// parseToken decodes the text of tokenText, or the first word of a file, given as @FILE.
func parseToken(text string) ([]byte, error) {
	where := "that"
	if name, isFile := strings.CutPrefix(text, "@"); isFile {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("the token file cannot be read: %w", err)
		}
		words := strings.Fields(string(content))
		if len(words) == 0 {
			return nil, fmt.Errorf("the token file %s is empty, and that is no connect token: copy the whole text that serve or token printed, or give another @FILE", name)
		}
		text, where = words[0], "the first word of "+name
	}
	token, ok := tokenOf(strings.TrimSpace(text))
	if !ok {
		return nil, fmt.Errorf("%s is no connect token: copy the whole text that serve or token printed, or give @FILE", where)
	}
	return token, nil
}

// tokenOf decodes the text of tokenText.
func tokenOf(text string) (token []byte, ok bool) {
	token, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(token) > netcode.TokenSize {
		return nil, false
	}
	token = append(token, make([]byte, netcode.TokenSize-len(token))...)
	_, err = netcode.ParseConnectToken(token)
	return token, err == nil
}

// resolve returns the address of host:port.
func resolve(text string) (netip.AddrPort, error) {
	addr, err := net.ResolveUDPAddr("udp", text)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%q is no address: give host:port, such as 127.0.0.1:7777 (%w)", text, err)
	}
	at := netip.AddrPortFrom(addr.AddrPort().Addr().Unmap(), addr.AddrPort().Port()) // IsUnspecified is false for a mapped 0.0.0.0
	if !at.Addr().IsValid() || at.Addr().IsUnspecified() || at.Port() == 0 {
		return netip.AddrPort{}, fmt.Errorf("%q is no address that a client can reach: give host:port, such as 127.0.0.1:7777", text)
	}
	return at, nil
}

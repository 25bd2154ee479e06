//go:build !headless

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// strategies are those that --sync names, and that a client accepts.
var strategies = []systems.Strategy{relay.Strategy, lockstep.Strategy, predict.Strategy, reckon.Strategy, verify.Strategy}

// match is a server with bots in this process. The server runs on goroutines of its own, the bots in the game's loop.
// The zero match does nothing.
type match struct {
	rules   *ecs.Game
	key     netcode.Key
	address netip.AddrPort
	bots    []*client.Client
	stop    context.CancelFunc
	ended   chan error
}

const botCount = 2

// hostMatch starts a match with bots, kept in step by the strategy of that name.
func hostMatch(rules *ecs.Game, sync string) (*match, error) {
	of := slices.IndexFunc(strategies, func(s systems.Strategy) bool { return s.Name == sync })
	m := &match{rules: rules, ended: make(chan error, 1)}
	rand.Read(m.key[:]) // never fails
	s, err := server.New(server.Config{Room: room.Config{Game: rules, Strategy: strategies[of]}, Address: "127.0.0.1:0",
		Keys: []netcode.Key{m.key}, MaxRooms: 1})
	if err != nil {
		return nil, err
	}
	m.address = netip.MustParseAddrPort(s.Addr().String())
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	go func() { m.ended <- s.Run(ctx) }()
	for i := range botCount {
		b, err := m.join(client.Config{Name: fmt.Sprintf("bot %d", i+1), Bot: true, BotSeed: uint64(i)})
		if err != nil {
			m.close()
			return nil, err
		}
		m.bots = append(m.bots, b)
	}
	return m, nil
}

// join returns a client that plays in the match.
func (m *match) join(c client.Config) (*client.Client, error) {
	token, err := m.token()
	if err != nil {
		return nil, err
	}
	return dial(m.rules, token, c)
}

func dial(rules *ecs.Game, token []byte, c client.Config) (*client.Client, error) {
	c.Game, c.Strategies = rules, strategies
	return client.Dial(client.DialConfig{Token: token, Config: c})
}

func (m *match) token() ([]byte, error) {
	return server.Mint(server.Ticket{ProtocolID: server.ProtocolID(m.rules.Name), Key: m.key, Addresses: []netip.AddrPort{m.address},
		Pass: server.Pass{Room: "pond", Seat: server.AnySeat}, Lifetime: time.Hour}, time.Now())
}

// invitation returns a command line with which one more player joins. The zeros that fill a token are left out. The token is
// not an argument, because other users of the machine can read arguments.
func (m *match) invitation() string {
	token, err := m.token()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("TENDON_TOKEN=%s embed %v", base64.RawURLEncoding.EncodeToString(bytes.TrimRight(token, "\x00")), m.address)
}

func parseToken(text string) ([]byte, error) {
	token, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(token) > netcode.TokenSize {
		return nil, errors.New("that is no connect token: copy the whole line")
	}
	return append(token, make([]byte, netcode.TokenSize-len(token))...), nil
}

// frame advances the bots. A bot that has lost its match is ignored.
func (m *match) frame(now time.Time) {
	for _, b := range m.bots {
		_ = b.Frame(now)
	}
}

func (m *match) close() {
	for _, b := range m.bots {
		b.Close()
	}
	if m.stop != nil {
		m.stop()
		<-m.ended
	}
}

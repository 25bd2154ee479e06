package bots

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/internal/host"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/cmd/cli/internal/tokens"
	"tendon/net/client"
	"tendon/net/netcode"
	"tendon/net/server"
	"tendon/net/simnet"
)

// Bots whose tokens have expired do not connect any more. When all have ended, the verb ends with the reason.
func TestTheVerbEndsWithItsLastBot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simnet.NewDatagramNet(simnet.Config{Seed: 7})
		defer net.Close()
		game := crumbs.Game()
		var note bytes.Buffer
		a := app.New(t.Context(), game, io.Discard, &note)
		c := &botGroup{players: 2, ledger: host.NewLedger(game, "client", nil), cost: hdrhistogram.New(1, 1000000, 3), late: hdrhistogram.New(1, 1000000, 3),
			failed: make([]error, 2)}
		for range c.failed {
			token, err := tokens.Mint(game.Name, netcode.Key{1}, netip.MustParseAddrPort("10.0.0.1:7777"), server.Pass{Room: "bots-0", Seat: server.AnySeat}, 3*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			k, err := client.Dial(client.DialConfig{Token: token, Config: client.Config{Game: game, Strategies: syncflags.All, Bot: true},
				Listen: func(netip.AddrPort) (client.Socket, error) { return net.Listen(netip.MustParseAddrPort("10.0.0.2:0")) }})
			if err != nil {
				t.Fatal(err)
			}
			c.clients = append(c.clients, k)
		}
		defer c.close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c.play(ctx, a)
		if ctx.Err() != nil {
			t.Error("the bots have ended, and the verb has not")
		}
		if err := c.verdict(a); !errors.Is(err, app.ErrFailed) || !errors.Is(err, client.ErrToken) || !strings.Contains(err.Error(), "bot 0 of room bots-0") {
			t.Errorf("%v", err)
		}
	})
}

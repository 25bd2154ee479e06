package server_test

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"tendon/net/matchsim/halves"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/systems/relay"
)

// invite makes the token of an authenticated player.
func invite(key netcode.Key, account uint64, match string, seat int) ([]byte, error) {
	return server.Mint(server.Ticket{
		ProtocolID: server.ProtocolID("arena"), // the name of the game
		Key:        key,                        // shared with the servers only
		ClientID:   account,                    // one connection at a time; the same number keeps its seat
		Addresses:  []netip.AddrPort{netip.MustParseAddrPort("203.0.113.7:7777")},
		Pass:       server.Pass{Room: match, Seat: seat},
		Lifetime:   45 * time.Second, // enough for the way to the client
	}, time.Now())
}

// A backend sends the token to the player over its own authenticated channel.
func ExampleMint() {
	key := netcode.Key{1} // in production: server.LoadKey("server.key")
	token, err := invite(key, 4711, "duel-17", 0)
	fmt.Println(len(token), "bytes, error", err)
	_, err = invite(key, 4711, "Duel 17", 0)
	fmt.Println(err)
	// Output:
	// 2048 bytes, error <nil>
	// server: not a pass: room "Duel 17": use 1 to 32 characters of a-z, 0-9, '_', '-' and '.', the first not '.'
}

// A server is a Config and a Run.
func ExampleNew() {
	s, err := server.New(server.Config{
		Room:    room.Config{Game: halves.Dots(), Strategy: relay.Strategy},
		Address: "127.0.0.1:0",
		Keys:    []netcode.Key{{1}},
	})
	if err != nil {
		fmt.Println(err) // a sentence with the remedy
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	stop() // the server stops at once
	fmt.Println(s.Run(ctx), s.Stats().Rooms, "rooms")
	// Output: <nil> 0 rooms
}

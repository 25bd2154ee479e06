package server_test

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"tendon/net/matchtest"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/systems/relay"
)

// invite is what a backend does once it knows who a player is and where the player belongs.
func invite(key netcode.Key, account uint64, match string, seat int) ([]byte, error) {
	return server.Mint(server.Ticket{
		ProtocolID: server.ProtocolID("arena"), // the game's name
		Key:        key,                        // shared with the servers, and with nobody else
		ClientID:   account,                    // one connection at a time; the same number comes back to its seat
		Addresses:  []netip.AddrPort{netip.MustParseAddrPort("203.0.113.7:7777")},
		Pass:       server.Pass{Room: match, Seat: seat},
		Lifetime:   45 * time.Second, // the way to the client, no more
	}, time.Now())
}

// A backend lets a player in by a token, which it hands over on the channel by which it knows the player.
func ExampleMint() {
	key := netcode.Key{1} // in earnest: server.LoadKey("server.key")
	token, err := invite(key, 4711, "duel-17", 0)
	fmt.Println(len(token), "bytes, error", err)
	_, err = invite(key, 4711, "Duel 17", 0)
	fmt.Println(err)
	// Output:
	// 2048 bytes, error <nil>
	// server: not a pass: room "Duel 17": a name has 1 to 32 letters a-z, digits, underscores, dashes or, but at its start, dots
}

// A server of one's own is a Config and a Run.
func ExampleNew() {
	s, err := server.New(server.Config{
		Room:    room.Config{Game: matchtest.Dots(), Strategy: relay.Strategy},
		Address: "127.0.0.1:0",
		Keys:    []netcode.Key{{1}},
	})
	if err != nil {
		fmt.Println(err) // a sentence that says what to do
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	stop() // a server that is told to stop at once
	fmt.Println(s.Run(ctx), s.Stats().Rooms, "rooms")
	// Output: <nil> 0 rooms
}

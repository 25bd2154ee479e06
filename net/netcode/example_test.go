package netcode_test

import (
	"fmt"
	"net/netip"
	"time"

	"tendon/net/netcode"
)

// A backend makes a token, a client connects with it, and one payload goes up. The network is a pair of loops: what is
// in an Outbox is handed to the other side.
func Example() {
	key := netcode.Key{1, 2, 3} // 32 secret random bytes in earnest
	here, there := netip.MustParseAddrPort("192.0.2.7:5000"), netip.MustParseAddrPort("192.0.2.1:40000")
	now := time.Unix(1_700_000_000, 0)

	token, err := netcode.GenerateToken(netcode.TokenRequest{
		ProtocolID: 1, Key: key, ClientID: 42, Servers: []netip.AddrPort{there}, UserData: []byte("seat 3"),
	}, now)
	if err != nil {
		panic(err)
	}
	server, err := netcode.NewServer(netcode.ServerConfig{
		ProtocolID: 1, Keys: []netcode.Key{key}, Addresses: []netip.AddrPort{there}, Slots: 8,
	}, now)
	if err != nil {
		panic(err)
	}
	var client netcode.Client
	if err := client.Connect(token, now); err != nil {
		panic(err)
	}

	var up, down netcode.Outbox
	for range 3 {
		client.Update(&up, now)
		if client.State() == netcode.StateConnected {
			_ = client.Send(&up, []byte("hello"), now)
		}
		for i := range up.Len() {
			_, packet := up.At(i)
			switch e := server.Receive(&down, packet, here, now); e.Kind {
			case netcode.Connected:
				fmt.Printf("client %d has slot %d: %s\n", server.ClientID(e.Slot), e.Slot, server.UserData(e.Slot)[:6])
			case netcode.Payload:
				fmt.Printf("slot %d says %s\n", e.Slot, e.Payload)
			}
		}
		up.Reset()
		for i := range down.Len() {
			_, packet := down.At(i)
			client.Receive(packet, there, now)
		}
		down.Reset()
		fmt.Println(client.State())
	}
	// Output:
	// sending connection response
	// client 42 has slot 0: seat 3
	// connected
	// slot 0 says hello
	// connected
}

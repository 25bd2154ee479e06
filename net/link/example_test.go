package link_test

import (
	"fmt"
	"time"

	"tendon/net/link"
	"tendon/net/wire"
)

// The messages of a tick are sent in one packet, and the other end receives each on its channel.
func Example() {
	here, there := link.New(), link.New()
	fmt.Println(here.Send(wire.Reliable, []byte("buy a shield")), here.Send(wire.Datagram, []byte("left")))

	packets := 0
	here.Flush(16*time.Millisecond, func(packet []byte) {
		packets++
		if err := there.Receive(packet); err != nil {
			fmt.Println(err)
		}
	})
	fmt.Println(packets, "packet")
	for channel, message, ok := there.Next(); ok; channel, message, ok = there.Next() {
		fmt.Printf("%v: %s\n", channel, message)
	}
	// Output:
	// <nil> <nil>
	// 1 packet
	// 0: buy a shield
	// 1: left
}

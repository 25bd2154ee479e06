package link_test

import (
	"fmt"
	"time"

	"tendon/net/link"
)

// The messages of a tick are sent in one packet, and the other end receives each on its channel.
func Example() {
	here, there := link.New(), link.New()
	fmt.Println(here.SendReliable([]byte("buy a shield")), here.SendDatagram([]byte("left")))

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

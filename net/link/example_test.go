package link_test

import (
	"fmt"
	"time"

	"tendon/net/link"
)

// Two links whose packets reach each other: what leaves in a tick leaves together, and each channel hands out its own.
func Example() {
	here, err := link.New(link.Config{Epoch: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	there, _ := link.New(link.Config{Epoch: 1})
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

package simnet_test

import (
	"fmt"
	"time"

	"tendon/net/simnet"
)

// A client sends its input each tick. The server receives it after the one-way
// delay, on a clock of its own.
func Example() {
	n := simnet.New(simnet.Config{Seed: 1})
	server := n.AddNode(simnet.Clock{})
	client := n.AddNode(simnet.Clock{Offset: 3 * time.Second})
	gambetta, _ := simnet.ByName("P4")
	if err := n.Connect(client, server, gambetta); err != nil {
		fmt.Println(err)
		return
	}
	n.OnMessage(server, func(from simnet.NodeID, ch simnet.Channel, payload []byte, now simnet.Time) {
		fmt.Printf("%s at %v\n", payload, now)
	})
	n.Every(client, n.LocalNow(client), 20, func(k int64, now simnet.Time) {
		n.Send(client, server, simnet.Datagram, fmt.Appendf(nil, "input %d of %v", k, now))
	})
	n.RunUntil(200 * time.Millisecond)
	// Output:
	// input 0 of 3s at 125ms
	// input 1 of 3.05s at 175ms
}

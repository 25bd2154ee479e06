package clock_test

import (
	"fmt"

	"tendon/systems"
	"tendon/systems/clock"
)

// A client learns what the server's clock shows: it is 5 s ahead, and each way takes 40 ms.
func Example() {
	const ahead, way = 5 * systems.Second, systems.Second / 25
	probe, answer := clock.NewProber(), clock.NewAnswerer()
	now := systems.Time(0) // on the client's clock
	for range 20 {
		if question := probe.Append(nil, now); len(question) > 0 {
			if err := answer.Receive(question, now+way+ahead); err != nil {
				fmt.Println(err)
			}
		}
		if reply := answer.Append(nil, now+way+ahead); len(reply) > 0 {
			if err := probe.Receive(reply, now+2*way); err != nil {
				fmt.Println(err)
			}
		}
		now += systems.Second / 10
	}
	at, known := probe.ToRemote(now)
	fmt.Println(known, "round trip", float64(probe.LastRTT())/1e6, "ms, off by less than 10 ms:", at-now-ahead < 1e7 && at-now-ahead > -1e7)
	// Output:
	// true round trip 80 ms, off by less than 10 ms: true
}

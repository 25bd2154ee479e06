package agones_test

import (
	"context"
	"fmt"

	"tendon/net/agones"
)

// A server reports itself to the SDK server beside it.
func Example() {
	c, err := agones.NewClient(agones.LocalAddress())
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	r := agones.NewReporter(agones.Config{
		Client: c,
		Labels: map[string]string{"build": "1a2b3c"},
		Load: func(context.Context) (agones.Load, error) { // it asks each room, so a room that hangs is an error
			return agones.Load{Rooms: []string{"duel-17"}, Players: []string{"7", "9"}}, nil
		},
		Drain: func(reason string) { fmt.Println("stopping:", reason) },
	})
	stop() // at the end of the server
	r.Run(ctx)
	fmt.Println("reported")
	// Output: reported
}

package admin_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"tendon/cmd/arena/rules"
	"tendon/cmd/cli/admin"
	"tendon/cmd/cli/page"
	"tendon/net/cost"
	"tendon/net/server"
)

// Whoever starts servers asks whether this one is ready: not before its socket is open and its matches are back, and not
// once it is told to stop.
func Example() {
	s, err := admin.New(admin.Config{Page: page.Config{Addr: "127.0.0.1:0"}, Game: rules.Game(), Strategy: "relay"})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	ask := func() {
		answer, err := http.Get(s.URL() + "readyz")
		if err != nil {
			panic(err)
		}
		text, _ := io.ReadAll(answer.Body) // what there is of it is printed
		answer.Body.Close()
		fmt.Println(answer.StatusCode, strings.TrimSpace(string(text)))
	}
	ask()
	s.Ready(admin.Source{ // a running server's own functions
		Stats: func() server.Stats { return server.Stats{} },
		Peers: func(string) ([]server.PeerInfo, error) { return nil, nil },
		Costs: func() (map[string]cost.Report, cost.Report) { return nil, cost.Report{} },
	})
	ask()
	s.Stopping()
	ask()
	stop()
	fmt.Println(<-done)
	// Output:
	// 503 starting
	// 200 ready
	// 503 stopping
	// <nil>
}

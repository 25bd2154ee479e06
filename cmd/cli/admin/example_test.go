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

// A server is ready from when its socket is open and its matches are resumed until it is stopped.
func Example() {
	s, err := admin.New(admin.Config{Page: page.Config{Addr: "127.0.0.1:0"}, Game: rules.Game(), Strategy: "relay"})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	get := func() {
		answer, err := http.Get(s.URL() + "readyz")
		if err != nil {
			panic(err)
		}
		text, _ := io.ReadAll(answer.Body) // prints what was read
		answer.Body.Close()
		fmt.Println(answer.StatusCode, strings.TrimSpace(string(text)))
	}
	get()
	s.Ready(admin.Source{ // a running server's own functions
		Stats: func() server.Stats { return server.Stats{} },
		Peers: func(string) ([]server.PeerInfo, error) { return nil, nil },
		Costs: func() (map[string]cost.Report, cost.Report) { return nil, cost.Report{} },
	})
	get()
	s.Stopping()
	get()
	stop()
	fmt.Println(<-done)
	// Output:
	// 503 starting
	// 200 ready
	// 503 stopping
	// <nil>
}

package labpage_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"tendon/cmd/arena/rules"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/cmd/cli/labpage"
	"tendon/cmd/cli/page"
)

// The lab of a game, beginning with the arena's usual settings and seed 7: a person opens the server's Link in a browser.
func Example() {
	s, err := page.New(page.Config{Streams: labpage.Streams})
	if err != nil {
		panic(err)
	}
	if err := labpage.Register(s, labpage.Config{Game: rules.Game(), Strategies: syncflags.All, Begin: labpage.Usual(7)}); err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	answer, err := http.Get(s.Link("/"))
	if err != nil {
		panic(err)
	}
	text, _ := io.ReadAll(answer.Body) // what there is of it is looked at
	answer.Body.Close()
	fmt.Println(answer.Status, strings.Contains(string(text), "Tendon lab"))
	stop()
	fmt.Println(<-done)
	// Output:
	// 200 OK true
	// <nil>
}

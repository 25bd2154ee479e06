package replaypage_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"tendon/cmd/arena/rules"
	"tendon/cmd/cli/page"
	"tendon/cmd/cli/replaypage"
	"tendon/ecs"
	"tendon/rollback/record"
)

// A recording is shown on a page of this computer. A person opens the server's Link in a browser.
func Example() {
	game := rules.Game()
	var file bytes.Buffer // as serve --record writes it
	writer, err := record.NewWriter(&file, game, record.HeaderOf(game, 1, "v1"))
	if err != nil {
		panic(err)
	}
	if err := writer.Tick(record.Tick{Tick: 1, Inputs: make([]ecs.InputBytes, game.MaxPlayers)}); err != nil {
		panic(err)
	}
	if err := writer.End(); err != nil {
		panic(err)
	}
	match, err := record.Open(file.Bytes(), game)
	if err != nil {
		panic(err)
	}

	s, err := page.New(page.Config{})
	if err != nil {
		panic(err)
	}
	replaypage.Register(s, "/", func(context.Context, string) ([]replaypage.Match, error) {
		return []replaypage.Match{{Name: "the match", Record: match}}, nil
	})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	answer, err := http.Get(s.Link("/"))
	if err != nil {
		panic(err)
	}
	text, _ := io.ReadAll(answer.Body) // the part that was read is enough
	answer.Body.Close()
	fmt.Println(answer.Status, strings.Contains(string(text), "<title>Replay</title>"))
	stop()
	fmt.Println(<-done)
	// Output:
	// 200 OK true
	// <nil>
}

package travelpage_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"tendon/cmd/arena/rules"
	"tendon/cmd/cli/page"
	"tendon/cmd/cli/travelpage"
	"tendon/ecs"
	"tendon/rollback/recording"
)

// A recording is shown on a page of this computer's: a person opens the server's Link in a browser.
func Example() {
	game := rules.Game()
	var file bytes.Buffer // as serve --record writes it
	writer, err := recording.NewWriter(&file, recording.HeaderOf(game, 1, "v1"))
	if err != nil {
		panic(err)
	}
	if err := writer.Tick(recording.Entry{Tick: 1, Inputs: make([]ecs.InputBytes, game.MaxPlayers)}); err != nil {
		panic(err)
	}
	if err := writer.Close(); err != nil {
		panic(err)
	}
	match, err := recording.Open(file.Bytes())
	if err != nil {
		panic(err)
	}

	s, err := page.New(page.Config{})
	if err != nil {
		panic(err)
	}
	err = travelpage.Register(s, "/", travelpage.Config{Game: game, Open: func(context.Context, string) ([]travelpage.Match, error) {
		return []travelpage.Match{{Name: "the match", Source: match}}, nil
	}})
	if err != nil {
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
	fmt.Println(answer.Status, strings.Contains(string(text), "<title>Replay</title>"))
	stop()
	fmt.Println(<-done)
	// Output:
	// 200 OK true
	// <nil>
}

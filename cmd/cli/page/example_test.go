package page_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"tendon/cmd/cli/page"
	"tendon/ecs"
)

// A game's Draw draws on a Picture as on a window; painter.js paints it in the browser.
func ExamplePicture() {
	p := page.NewPicture()
	p.Reset(16.0 / 9)
	p.Camera(0, 0, 20)
	p.Circle(1.25, -3, 2, ecs.Color{R: 255, A: 255})
	p.Hud().Text(1, 1, 0.5, -1, "tick 90", ecs.Color{R: 255, G: 255, B: 255, A: 255})
	fmt.Println(string(p.Append(nil)))
	// Output: [0,0,0,20,2,1.25,-3,2,4278190335,7,1,5,1,1,0.5,-1,"tick 90",4294967295]
}

// A handler with effects is a POST, which only this server's own pages can send.
func ExampleServer() {
	s, err := page.New(page.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s.Handle("POST /stop", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "stopped") }))
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	for _, origin := range []string{"https://elsewhere.example", strings.TrimSuffix(s.URL(), "/")} {
		r, err := http.NewRequest("POST", s.URL()+"stop", nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		r.Header.Set("Origin", origin)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		text, _ := io.ReadAll(answer.Body) // prints what was read
		answer.Body.Close()
		fmt.Println(answer.StatusCode, strings.TrimSpace(string(text)))
	}
	stop()
	fmt.Println(<-done)
	// Output:
	// 403 pages of other sites have no access
	// 200 stopped
	// <nil>
}

package page_test

import (
	"context"
	"testing"
	"testing/fstest"

	"tendon/cmd/cli/page"
)

// start serves until the test ends.
func start(t testing.TB, c page.Config, register func(s *page.Server)) *page.Server {
	t.Helper()
	s, err := page.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if register != nil {
		register(s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return s
}

// files returns a page whose index.html has this head and body.
func files(head, body string) fstest.MapFS {
	return fstest.MapFS{"index.html": {Data: []byte(`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>test</title>
<link rel="icon" href="/assets/icon.svg"><link rel="stylesheet" href="/assets/page.css"><script src="/assets/theme.js"></script>` + head + `</head><body>` + body + `</body></html>`)}}
}

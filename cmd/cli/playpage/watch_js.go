//go:build !headless

package playpage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall/js"
	"time"

	"tendon/cmd/cli/window"
	"tendon/ecs"
	"tendon/net/broadcast"
)

// watch shows a broadcast in the canvas of the page. It publishes the statistics of the viewer as tendonStats.
func watch(game *ecs.Game, address string) error {
	source := fetched(strings.TrimSuffix(strings.TrimSuffix(address, broadcast.IndexName), "/"))
	start := time.Now()
	clock := func() time.Duration { return time.Since(start) }
	v, err := broadcast.NewViewer(game, source, uint64(start.UnixNano()), 0)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- v.Run(context.Background(), clock) }()
	started := false
	var failed error
	return window.Run(window.Config{Title: game.Name, Game: game,
		Frame: func(time.Time, ecs.InputBytes) error {
			select {
			case failed = <-ended:
			default:
			}
			s := v.Stats()
			if !started {
				show(s.Status(game.TickRate), false)
			}
			js.Global().Set("tendonStats", map[string]any{"tick": float64(s.Tick), "verified": float64(s.Verified), "jumps": float64(s.Jumps), "over": s.Over})
			return failed
		},
		Report: func(err error) { js.Global().Get("console").Call("warn", err.Error()) },
		View: func(_ time.Time, effect func(*ecs.View, ecs.Effect)) *ecs.View {
			view, err := v.Show(clock(), effect)
			if err != nil {
				failed = err
				return nil
			}
			if view != nil && !started {
				started = true
				show("", false)
			}
			return view
		},
		Status: func() string { s := v.Stats(); return s.Status(game.TickRate) },
		Banner: func(time.Time) string { s := v.Stats(); return s.Banner() },
	})
}

// fetched is the source of a broadcast at an address. It uses fetch of the browser, because net/http adds 1 MB to the program.
type fetched string

// Get loads a file.
func (s fetched) Get(ctx context.Context, name string, max int) ([]byte, error) {
	type answer struct {
		data []byte
		err  error
	}
	received := make(chan answer, 1)
	loaded := js.FuncOf(func(_ js.Value, args []js.Value) any {
		a := answer{}
		switch status := args[0].Get("status").Int(); status {
		case 200:
			bytes := args[0].Get("bytes")
			a.data = make([]byte, bytes.Get("length").Int())
			js.CopyBytesToGo(a.data, bytes)
		case 404, 410:
			a.err = fmt.Errorf("%w: %s/%s", broadcast.ErrNotFound, s, name)
		default:
			a.err = fmt.Errorf("%s/%s: the server answered %d", s, name, status)
		}
		received <- a
		return nil
	})
	defer loaded.Release()
	failed := js.FuncOf(func(_ js.Value, args []js.Value) any {
		received <- answer{err: errors.New(args[0].Call("toString").String())}
		return nil
	})
	defer failed.Release()
	js.Global().Call("tendonFetch", string(s)+"/"+name, max).Call("then", loaded, failed)
	a := <-received // the page gives up after a time
	return a.data, a.err
}

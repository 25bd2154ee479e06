package page

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"syscall/js"

	"tendon/ecs"
)

// Server serves the streams of one page in a browser, where the program runs in a worker of that page: see Export. Its methods
// are those of a Server that listens, as far as a page needs them.
type Server struct {
	streams map[string]func(ctx context.Context, c *Conn) error
}

// wire counts the messages that the page has processed.
type wire struct{ done chan struct{} }

// NewWorker returns the server of the page that runs this program in a worker.
func NewWorker() *Server {
	return &Server{map[string]func(ctx context.Context, c *Conn) error{}}
}

// Begin returns Begin of the Program that was exported.
func (*Server) Begin() []byte {
	begin := js.Global().Get("tendonBegin")
	if begin.Type() != js.TypeString {
		return nil
	}
	return []byte(begin.String())
}

// File returns the content of a file beside the page. It waits until the file is loaded; the page shows the progress.
func (*Server) File(name string) (content []byte, err error) {
	done := make(chan struct{})
	then := js.FuncOf(func(_ js.Value, args []js.Value) any {
		content = make([]byte, args[0].Length())
		js.CopyBytesToGo(content, args[0])
		close(done)
		return nil
	})
	failed := js.FuncOf(func(_ js.Value, args []js.Value) any {
		err = errors.New(args[0].Get("message").String())
		close(done)
		return nil
	})
	defer then.Release()
	defer failed.Release()
	js.Global().Call("tendonFile", name).Call("then", then, failed)
	<-done
	return content, err
}

// Fail sends the page an error instead of serving its stream.
func (*Server) Fail(err error) {
	js.Global().Call("postMessage", map[string]any{"ended": err.Error()})
}

// Page does nothing: the files of the page are beside the program.
func (*Server) Page(string, fs.FS, string) {}

// Images does nothing: the images are beside the program.
func (*Server) Images(*ecs.Game) {}

// Stream registers a handler that exchanges messages with the page. An error is sent to the page as the reason of the end.
func (s *Server) Stream(path string, f func(ctx context.Context, c *Conn) error) { s.streams[path] = f }

// Serve serves the stream that the page has opened, until it returns.
func (s *Server) Serve(ctx context.Context) {
	scope := js.Global()
	path := scope.Get("tendonPage").String()
	stream := s.streams[path]
	if stream == nil {
		s.Fail(errors.New("this program has no page " + path))
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	c := newConn(ctx, wire{make(chan struct{}, outMessages)})
	var work sync.WaitGroup
	work.Go(c.receive(ctx))
	work.Go(func() { c.post(ctx) })
	scope.Call("postMessage", map[string]any{"open": true})
	reason := ""
	if err := stream(ctx, c); err != nil {
		reason = err.Error()
	}
	scope.Call("postMessage", map[string]any{"ended": reason})
	cancel()
	work.Wait()
}

// receive receives the messages of the page. The returned function passes them to the stream, until ctx is done. Their number is not
// limited here, because they also wait in the page's own queue.
func (c *Conn) receive(ctx context.Context) (pass func()) {
	var received [][]byte // that wait for the channel
	var mu sync.Mutex
	more := make(chan struct{}, 1)
	js.Global().Set("onmessage", js.FuncOf(func(_ js.Value, args []js.Value) any {
		signal := c.done
		if text := args[0].Get("data").Get("text"); text.Type() == js.TypeString {
			mu.Lock()
			received = append(received, []byte(text.String()))
			mu.Unlock()
			signal = more
		}
		select {
		case signal <- struct{}{}:
		default:
		}
		return nil
	}))
	return func() {
		for {
			select {
			case <-more:
			case <-ctx.Done():
				return
			}
			mu.Lock()
			list := received
			received = nil
			mu.Unlock()
			for _, m := range list {
				select {
				case c.messages <- m:
				case <-ctx.Done():
					return
				}
			}
		}
	}
}

// post posts the messages of the stream to the page, until ctx is done. Each waits until the page has processed the one before.
func (c *Conn) post(ctx context.Context) {
	for {
		select {
		case b := <-c.out:
			js.Global().Call("postMessage", map[string]any{"text": string(b)})
			select {
			case <-c.done:
			case <-ctx.Done():
				return
			}
			c.free <- b
		case <-ctx.Done():
			return
		}
	}
}

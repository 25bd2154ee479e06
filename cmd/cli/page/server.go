//go:build !js

package page

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tendon/ecs"
)

// Server serves pages. Call New, then Handle and Page, then Serve once. Handlers must not be added while it serves.
type Server struct {
	config   Config
	public   map[string]bool // paths that need no token
	controls map[string]bool // paths that always need a token in the header
	listener net.Listener
	mux      *http.ServeMux
	http     *http.Server
	ctx      context.Context // done when the server stops; parent of every stream's context
	stop     context.CancelFunc
	streams  sync.WaitGroup
	open     atomic.Int64 // streams
	files    []file       // of all pages
}

// writeTimeout bounds how long a visitor may take to accept a response or a message, and to send a request. A profile may
// take longer: net/http/pprof extends the deadline itself.
const writeTimeout = 10 * time.Second

// New checks the configuration, opens the socket and registers the shared assets under /assets/.
func New(c Config) (*Server, error) {
	c, at, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	l, err := net.ListenTCP("tcp", at)
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	s := &Server{config: c, public: map[string]bool{tokenPath: true}, controls: map[string]bool{}, listener: l, mux: http.NewServeMux()}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler:           s.guard(http.MaxBytesHandler(s.mux, 64<<10)),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: writeTimeout, WriteTimeout: writeTimeout, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10,
		BaseContext:    func(net.Listener) context.Context { return s.ctx },
		ErrorLog:       log.New(io.Discard, "", 0), // visitors must not be able to fill a log
	}
	s.Page(assetsPath, assets, "assets")
	if c.Token != "" {
		s.Handle("POST "+tokenPath, http.HandlerFunc(s.exchange))
	}
	return s, nil
}

//go:embed assets
var assets embed.FS

const assetsPath = "/assets/"

// Addr returns the address of the socket.
func (s *Server) Addr() netip.AddrPort {
	return s.listener.Addr().(*net.TCPAddr).AddrPort()
}

// URL returns the address of the root page, without a token. A server on all interfaces returns its loopback address.
func (s *Server) URL() string {
	return LocalURL(s.Addr()) + "/"
}

// LocalURL returns the URL of a listener on this machine, without a path: that of the loopback address if it is on all interfaces.
func LocalURL(listener netip.AddrPort) string {
	host := listener.Addr().Unmap()
	if host.IsUnspecified() {
		host = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return "http://" + netip.AddrPortFrom(host, listener.Port()).String()
}

// Link returns the address of a page with the token, if there is one, in the fragment. Browsers do not send fragments, and the
// page removes it at once.
func (s *Server) Link(path string) string {
	link := strings.TrimSuffix(s.URL(), "/") + path
	if s.config.Token != "" {
		link += "#token=" + url.QueryEscape(s.config.Token)
	}
	return link
}

// Handle registers a handler. A pattern is that of http.ServeMux; without a method, as in "POST /stop", it accepts GET and
// HEAD. A handler with effects must not accept GET. Other methods are refused with 405.
func (s *Server) Handle(pattern string, h http.Handler) {
	if !strings.Contains(pattern, " ") {
		pattern = "GET " + pattern
	}
	s.mux.Handle(pattern, h)
}

// HandlePublic registers a handler of one path that needs no token, such as a health check. All other checks apply.
func (s *Server) HandlePublic(path string, h http.Handler) {
	s.public[path] = true
	s.Handle(path, h)
}

// HandleControl registers a handler of one path that a program calls. A request needs the token as Authorization: Bearer,
// also on loopback; a cookie is not enough. Without a Token in the Config every request is refused with 403.
func (s *Server) HandleControl(pattern string, h http.Handler) {
	_, path, named := strings.Cut(pattern, " ")
	if !named {
		path = pattern
	}
	s.controls[path] = true
	s.Handle(pattern, h)
}

// Page serves the files of a directory: index.html at the path, which begins and ends with a slash, and the others under it
// by name; dir is "." for all files. It reads them now. It panics if there is no such directory, or a file of an unknown type.
func (s *Server) Page(at string, files fs.FS, dir string) {
	err := fs.WalkDir(files, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		kind, known := kinds[path.Ext(name)]
		if !known {
			return fmt.Errorf("%s has an unknown extension", name)
		}
		sum, pattern := sha256.Sum256(content), at+strings.TrimPrefix(name, dir+"/")
		s.files = append(s.files, file{pattern, content})
		if pattern == at+"index.html" {
			pattern = at + "{$}"
		}
		s.Handle(pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Cache-Control", "no-cache")
			w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`) // browsers revalidate the file by it
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
		}))
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("page: the files of %q cannot be served: %v", at, err))
	}
}

// kinds are the content types of the files of pages. The list of the operating system differs by machine.
var kinds = map[string]string{
	".css":  "text/css; charset=utf-8",
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".json": "application/json",
	".png":  "image/png",
	".svg":  "image/svg+xml",
	"":      "text/plain; charset=utf-8", // LICENSE
}

// Images serves the images among the assets of a game, for painter.js.
func (s *Server) Images(g *ecs.Game) {
	for _, a := range g.Assets {
		if isImage(a.Data) {
			s.files = append(s.files, file{imagesPath + a.Name, a.Data})
		}
	}
	s.Handle(imagesPath+"{name...}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data := g.Asset(r.PathValue("name"))
		if !isImage(data) {
			refuse(w, http.StatusNotFound, "there is no such image among the assets of the game")
			return
		}
		w.Header().Set("Content-Type", http.DetectContentType(data))
		_, _ = w.Write(data)
	}))
}

const imagesPath = "/image/"

// isImage reports whether the data of an asset is an image that a page shows.
func isImage(data []byte) bool {
	kind := http.DetectContentType(data)
	return kind == "image/png" || kind == "image/jpeg"
}

// Serve serves until the context is done. Then it ends every stream, waits a moment for responses in progress and returns
// nil. It may be called once.
func (s *Server) Serve(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(s.listener) }()
	defer s.stop()
	select {
	case err := <-failed:
		return fmt.Errorf("page: %w", err)
	case <-ctx.Done():
	}
	s.stop()
	limit, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	err := s.http.Shutdown(limit)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	s.streams.Wait()
	return err
}

// Close closes the socket of a server that does not serve.
func (s *Server) Close() error {
	s.stop()
	return s.listener.Close()
}

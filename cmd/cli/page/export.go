//go:build !js

package page

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

//go:embed static
var static embed.FS

// file is a file of a page, by the path of its URL.
type file struct {
	at      string
	content []byte
}

// Program is a program for browsers, which serves streams in a worker: see NewWorker of the target js.
type Program struct {
	Wasm    []byte // compiled for GOOS=js and GOARCH=wasm
	Runtime []byte // wasm_exec.js of the Go release that compiled it
	Begin   []byte // JSON for the program: see Begin of the target js. Optional
}

// Export writes pages as files that any static server can serve, from any path. register adds the pages, as to a Server that listens.
// Each page runs the program in a worker, which serves its streams. The folder is made if it does not exist; files of the same
// names are replaced. size is the sum of the files in bytes, as servers send them with gzip.
func Export(dir string, p Program, register func(s *Server) error) (size int, err error) {
	s := &Server{mux: http.NewServeMux(), public: map[string]bool{}, controls: map[string]bool{}}
	s.Page(assetsPath, assets, "assets")
	if err := register(s); err != nil {
		return 0, err
	}
	worker, err := static.ReadFile("static/worker.js")
	if err != nil {
		return 0, err
	}
	files := append(s.files, file{"/program.wasm.gz", compressed(p.Wasm)}, file{"/wasm_exec.js", p.Runtime},
		file{"/worker.js", fmt.Appendf(worker, "globalThis.tendonBegin = %s;\n", strconv.Quote(string(p.Begin)))})
	for _, f := range files {
		at := strings.TrimSuffix(f.at, "{$}")
		if strings.HasSuffix(at, "/") {
			at += "index.html"
		}
		name := filepath.Join(dir, filepath.FromSlash(at))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, relative(at, f.content), 0o666)); err != nil {
			return 0, fmt.Errorf("page: %w", err)
		}
		size += compressedSize(f)
	}
	return size, nil
}

// compressed returns gzip of a content.
func compressed(content []byte) []byte {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is valid, and a buffer cannot fail
	_, _ = z.Write(content)
	_ = z.Close()
	return out.Bytes()
}

func compressedSize(f file) int {
	if strings.HasSuffix(f.at, ".gz") {
		return len(f.content)
	}
	return len(compressed(f.content))
}

// reference matches the reference of a page or module to another file of the server.
var reference = regexp.MustCompile(`((?:href|src)=|from )"/`)

// relative makes the references of a file relative to it, and names the worker in a page.
func relative(at string, content []byte) []byte {
	up := strings.Repeat("../", strings.Count(at, "/")-1)
	if up == "" {
		up = "./"
	}
	switch path.Ext(at) {
	case ".html":
		content = bytes.Replace(content, []byte("<head>"), fmt.Appendf(nil, "<head>\n<meta name=\"tendon-worker\" content=\"%sworker.js\">", up), 1)
	case ".js":
	default:
		return content
	}
	return reference.ReplaceAll(content, []byte("${1}\""+up))
}

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

// Compressed returns Wasm, compressed with gzip.
func (p *Program) Compressed() []byte { return compressed(p.Wasm) }

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
// names are replaced. size is that of Write.
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
	files := map[string][]byte{"program.wasm.gz": p.Compressed(), "wasm_exec.js": p.Runtime,
		"worker.js": fmt.Appendf(worker, "globalThis.tendonBegin = %s;\n", strconv.Quote(string(p.Begin)))}
	for _, f := range s.files {
		at := strings.TrimSuffix(f.at, "{$}")
		if strings.HasSuffix(at, "/") {
			at += "index.html"
		}
		files[at[1:]] = relative(at, f.content)
	}
	return Write(dir, files)
}

// Write writes files with slashes in their names into a folder, which is made if it does not exist. size is the sum of the files in
// bytes, as servers send them with gzip.
func Write(dir string, files map[string][]byte) (size int, err error) {
	for name, content := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, content, 0o666)); err != nil {
			return 0, fmt.Errorf("page: %w", err)
		}
		if !strings.HasSuffix(name, ".gz") {
			content = compressed(content)
		}
		size += len(content)
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

package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"time"
)

//go:embed assets
var assets embed.FS

//go:embed assets/token.html
var tokenPage []byte

// assetsPath is the path of the shared assets.
const assetsPath = "/assets/"

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

// file is one file of a page. Browsers revalidate it by its tag.
type file struct {
	name    string
	kind    string
	tag     string
	content []byte
}

// ServeHTTP sends the file, or that it is not modified.
func (f *file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", f.kind)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", f.tag)
	http.ServeContent(w, r, f.name, time.Time{}, bytes.NewReader(f.content))
}

// readFiles reads all files. It panics on errors, since the files are part of the program.
func readFiles(from fs.FS) map[string]*file {
	files := map[string]*file{}
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		kind, known := kinds[path.Ext(name)]
		if !known {
			return fmt.Errorf("%s has an unknown extension", name)
		}
		sum := sha256.Sum256(content)
		files[name] = &file{name, kind, `"` + hex.EncodeToString(sum[:8]) + `"`, content}
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("page: the files of a page cannot be served: %v", err))
	}
	return files
}

// serveAssets registers the shared assets.
func (s *Server) serveAssets() {
	own, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(fmt.Sprintf("page: the assets are not embedded: %v", err))
	}
	for name, f := range readFiles(own) {
		s.Handle(assetsPath+name, f)
	}
}

//go:build !js

package playpage

import (
	"bytes"
	"embed"
	"html"
	"io/fs"

	"tendon/cmd/cli/page"
	"tendon/net/web"
)

//go:embed web
var static embed.FS

// Files returns the files of the page for a game, for any static web server and any path of it. font is compressed with gzip; the
// page loads it after the program.
func Files(game string, p page.Program, font []byte) (map[string][]byte, error) {
	files := map[string][]byte{"font.ttf.gz": font, "program.wasm.gz": p.Compressed(), "wasm_exec.js": p.Runtime, "session.js": web.Script}
	err := fs.WalkDir(static, "web", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := static.ReadFile(name)
		files[d.Name()] = bytes.ReplaceAll(data, []byte("{game}"), []byte(html.EscapeString(game)))
		return err
	})
	return files, err
}

//go:build !js

package broadcast

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// Dir is a Store that writes into a directory. It renames complete files, so a web server never sends a part of a file.
type Dir string

// OpenDir makes the directory of a room, and removes the runs of earlier processes from it, also files that were not whole.
func OpenDir(dir string) (Dir, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	runs, err := os.ReadDir(dir)
	for _, run := range runs {
		switch name := filepath.Join(dir, run.Name()); {
		case run.IsDir() && runName.MatchString(run.Name()):
			err = errors.Join(err, removeRun(name))
		case !run.IsDir() && partForm.MatchString(run.Name()):
			err = errors.Join(err, os.Remove(name))
		}
	}
	return Dir(dir), err
}

// removeRun removes the files of a run, and the directory if nothing else is in it.
func removeRun(dir string) error {
	files, err := os.ReadDir(dir)
	others := false
	for _, f := range files {
		if fileForm.MatchString(f.Name()) || partForm.MatchString(f.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, f.Name())))
		} else {
			others = true
		}
	}
	if others || err != nil {
		return err
	}
	return os.Remove(dir)
}

// fileForm matches the names of the files in a run.
var fileForm = regexp.MustCompile(`^[0-9]{1,20}\.(full|ticks)$`)

// partForm matches the names of files that Put has not renamed yet.
var partForm = regexp.MustCompile(`^\.part-[0-9]+$`)

// Put replaces a file.
func (d Dir) Put(name string, data []byte) error {
	name = filepath.Join(string(d), filepath.FromSlash(name))
	folder := filepath.Dir(name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, ".part-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// Remove removes a file.
func (d Dir) Remove(name string) error {
	return os.Remove(filepath.Join(string(d), filepath.FromSlash(name)))
}

// Values of Cache-Control.
const (
	// CacheForever is the Cache-Control of fragments, which never change.
	CacheForever = "public, max-age=31536000, immutable"
	// CacheBriefly is the Cache-Control of an index, and of a fragment that does not exist yet.
	CacheBriefly = "public, max-age=1"
)

// Handler serves the broadcasts in the folders of a directory, with the headers that caches and browsers of other sites need. It
// serves no other files.
func Handler(dir string) http.Handler {
	files := os.DirFS(dir)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, name := w.Header(), strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", CacheBriefly)
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		parts := strings.Split(name, "/")
		file := len(parts) == 3 && runName.MatchString(parts[1]) && fileForm.MatchString(parts[2])
		if !file && (len(parts) != 2 || parts[1] != IndexName) {
			http.NotFound(w, r)
			return
		}
		if _, err := fs.Stat(files, name); err != nil {
			http.NotFound(w, r)
			return
		}
		h.Set("Content-Type", "application/json")
		if file {
			h.Set("Cache-Control", CacheForever)
			h.Set("Content-Type", "application/octet-stream")
			h.Set("ETag", `"`+parts[1]+"-"+parts[2]+`"`)
		}
		http.ServeFileFS(w, r, files, name)
	})
}

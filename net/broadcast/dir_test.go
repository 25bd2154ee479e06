package broadcast

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A match is written into a directory, served from it and watched over HTTP.
func TestAMatchIsServedFromADirectory(t *testing.T) {
	dir := t.TempDir()
	to, err := OpenDir(filepath.Join(dir, "den"))
	if err != nil {
		t.Fatal(err)
	}
	m := newMatch(t, 1, to, 0)
	m.play(4 * fragmentTicks)
	m.writer.Close(true)()
	s := httptest.NewServer(Handler(dir))
	defer s.Close()
	from, err := NewHTTP(s.URL+"/den/", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range []Source{from, Files{os.DirFS(filepath.Join(dir, "den"))}} {
		v := watch(game(), source)
		v.until(10 * time.Second)
		v.steps(t)
		if s := v.Stats(); s.Verified != 2*fragmentTicks || !s.Over || v.err != nil {
			t.Errorf("%T: %d ticks verified, over: %v, %v", source, s.Verified, s.Over, v.err)
		}
		if _, err := source.Get(t.Context(), "run-1/60.full", 10); !errors.Is(err, ErrDamaged) {
			t.Errorf("%T: a file above its bound: %v", source, err)
		}
	}
}

// Caches keep fragments for ever and an index for a second. Pages of other sites may load both. Nothing else is served.
func TestTheHeadersOfTheFiles(t *testing.T) {
	dir := t.TempDir()
	to := Dir(filepath.Join(dir, "den"))
	for _, name := range []string{IndexName, "run-1/0.full", "run-1/secret.txt", "run-1/.part-1"} {
		if err := to.Put(name, []byte("content")); err != nil {
			t.Fatal(err)
		}
	}
	if err := Dir(dir).Put("server.key", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	h := Handler(dir)
	get := func(method, path, etag string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest(method, "/", nil), httptest.NewRecorder()
		r.URL.Path = path
		r.Header.Set("If-None-Match", etag)
		h.ServeHTTP(w, r)
		if w.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: pages of other sites cannot read it", path)
		}
		return w
	}
	for path, want := range map[string]string{"/den/index.json": CacheBriefly, "/den/run-1/0.full": CacheForever} {
		if w := get(http.MethodGet, path, ""); w.Code != 200 || w.Header().Get("Cache-Control") != want || w.Header().Get("Last-Modified") == "" || w.Body.String() != "content" {
			t.Errorf("%s: %d, %v", path, w.Code, w.Header())
		}
	}
	if w := get(http.MethodGet, "/den/run-1/0.full", `"run-1-0.full"`); w.Code != http.StatusNotModified {
		t.Errorf("the file that a cache has: %d", w.Code)
	}
	for _, path := range []string{"/", "/den", "/den/", "/den/run-1/", "/den/run-1/180.ticks", "/den/run-1/secret.txt", "/den/run-1/.part-1", "/server.key",
		"/den/../server.key", "/../x/index.json", "//den//", "/den/run-1/0.full/x"} {
		if w := get(http.MethodGet, path, ""); w.Code != http.StatusNotFound || w.Header().Get("Cache-Control") != CacheBriefly {
			t.Errorf("%s: %d, %v", path, w.Code, w.Header())
		}
	}
	if w := get(http.MethodPost, "/den/index.json", ""); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

// The next server removes the files of earlier runs, and no others. A directory has the files of 16 fragments at most.
func TestTheDirectoryStaysSmall(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "photos", "0.jpg")
	if err := errors.Join(os.Mkdir(filepath.Dir(mine), 0o755), os.WriteFile(mine, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	m := newMatch(t, 2, must(OpenDir(dir)), 0)
	m.play(20 * fragmentTicks)
	m.writer.Close(true)()
	if files, _ := filepath.Glob(filepath.Join(dir, "run-1", "*")); len(files) != 2*keptFragments {
		t.Errorf("%d files: %q", len(files), files)
	}
	for _, folder := range []string{dir, filepath.Join(dir, "run-1")} { // the server was killed while it wrote
		if f, err := os.CreateTemp(folder, ".part-*"); err != nil || f.Close() != nil {
			t.Fatal(err)
		}
	}
	if _, err := OpenDir(dir); err != nil {
		t.Error(err)
	}
	left, _ := os.ReadDir(dir)
	if _, err := os.Stat(mine); err != nil || len(left) != 2 {
		t.Errorf("%v, %v; want the index and the photos", left, err)
	}
}

// A broken server is no reason to read more than a file may have.
func TestAnAddressIsChecked(t *testing.T) {
	for _, address := range []string{"", "den", "file:///den", "https://", "ftp://host/den"} {
		if _, err := NewHTTP(address, nil); err == nil || !strings.Contains(err.Error(), "https://host/path") {
			t.Errorf("%q: %v", address, err)
		}
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			for range 100 {
				w.Write(make([]byte, 1000))
				w.(http.Flusher).Flush()
			}
			return
		}
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer s.Close()
	from := must(NewHTTP(s.URL, nil))
	if _, err := from.Get(t.Context(), "stream", 5000); !errors.Is(err, ErrDamaged) {
		t.Errorf("a file without an end: %v", err)
	}
	if _, err := from.Get(t.Context(), "other", 5000); err == nil || !strings.Contains(err.Error(), "502") {
		t.Error(err)
	}
}

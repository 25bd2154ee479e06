package app

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"
	"unicode"
)

// A progress bar names its unit and is removed before the next line.
func TestAProgressBarNamesItsUnitAndIsRemoved(t *testing.T) {
	var note strings.Builder
	p := NewProgress(New(t.Context(), nil, io.Discard, &note), 100, "% of the match loaded")
	p.live = true
	p.At(37)
	if shown := note.String(); !strings.Contains(shown, "37 of 100 % of the match loaded") {
		t.Errorf("%q", shown)
	}
	p.next = time.Time{}
	p.At(100)
	p.Done()
	bar, rest, _ := strings.Cut(note.String()[strings.LastIndex(note.String(), "["):], "\r")
	if blank := strings.Trim(rest, "\r"); strings.TrimSpace(blank) != "" || len(blank) < len(bar) || !strings.HasSuffix(rest, "\r") {
		t.Errorf("%q is left of %q", rest, bar)
	}
}

// Control and invisible characters in names and errors are replaced in the output, and escaped in JSON.
func TestOutputHasNoInvisibleCharacters(t *testing.T) {
	const hostile = "a\x1b[2Jb\u202ec\u200bd\u0085e\ufefff\U000e0041g\x7fh\u2028i"
	var out, note strings.Builder
	a := New(t.Context(), nil, &out, &note)
	a.Print("player " + hostile + "\n\tZoë 春 🙂\n")
	a.Logf("room %s", hostile)
	if want := "player a [2Jb c d e f g h i\n\tZoë 春 🙂\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
	if want := "room a [2Jb c d e f g h i\n"; note.String() != want {
		t.Errorf("noted %q, want %q", note.String(), want)
	}
	out.Reset()
	a.Common.JSON = true
	a.Emit("player", Fields{"name": hostile})
	line := strings.TrimSuffix(out.String(), "\n")
	if i := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("the JSON has a character that is not printable: %q", line[i:])
	}
	var back struct{ Name string }
	if err := json.Unmarshal([]byte(line), &back); err != nil || back.Name != hostile {
		t.Errorf("%v: %q became %q", err, hostile, back.Name)
	}
}

func TestNumbersAreCountedWithTheirNoun(t *testing.T) {
	for n, want := range map[int]string{0: "0 matches", 1: "1 match", 2: "2 matches"} {
		if got := Counted(n, "match", "matches"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A program that go run started is named by its package, as a path from the working directory. Its executable is temporary, or
// in a build cache at any path.
func TestAProgramOfGoRunIsNamedByItsPackage(t *testing.T) {
	for path, want := range map[string]bool{"/tmp/go-build3672183019/b001/exe/main": true, "/x/y/f3/" + strings.Repeat("0a", 32) + "-d/a": true,
		"/home/ann/go-build/arena": false, "/usr/local/bin/arena": false} {
		if goRun.MatchString(path) != want {
			t.Errorf("%s: want %t", path, want)
		}
	}
	arena := debug.BuildInfo{Path: "m/cmd/arena", Main: debug.Module{Path: "m", Version: "(devel)"}}
	files, module := arena, arena
	files.Path = "command-line-arguments"
	module.Main = debug.Module{Path: "m", Version: "v1.2.3", Sum: "h1:"}
	for _, c := range []struct {
		info            *debug.BuildInfo
		directory, want string
	}{{&arena, "/m", "./cmd/arena"}, {&arena, "/m/cmd/arena", "."}, {&arena, "/m/cmd/arena/deep", ".."}, {&arena, "/m/cmd/dots", "../arena"},
		{&files, "/m/cmd/arena", "./main.go"}, {&files, "/m", "./cmd/arena/main.go"}, {&module, "/m", "m/cmd/arena@v1.2.3"}} {
		if got := packageOf(c.info, filepath.FromSlash("/m/cmd/arena/main.go"), filepath.FromSlash(c.directory)); got != c.want {
			t.Errorf("in %s: %s, want %s", c.directory, got, c.want)
		}
	}
	if got := packageOf(&arena, "", "/m"); got != "m/cmd/arena" {
		t.Errorf("without a file: %s", got)
	}
}

// Files are written into a new or empty folder, or over earlier ones of the same kind. The check makes no folder.
func TestAFolderWithOtherFilesIsNotFilled(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "a", "b")
	file := filepath.Join(dir, "file")
	for _, name := range []string{"file", "other/index.html", "earlier/index.html", "earlier/lab.js", "hidden/.git"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777), os.WriteFile(filepath.Join(dir, name), nil, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	for folder, good := range map[string]bool{missing: true, filepath.Join(dir, "earlier"): true, filepath.Join(dir, "hidden"): true,
		filepath.Join(dir, "other"): false, file: false, filepath.Join(file, "below"): false} {
		if err := Fillable("--export", folder, "lab.js"); (err == nil) != good {
			t.Errorf("%s: %v", folder, err)
		}
	}
	if _, err := os.Stat(filepath.Dir(missing)); err == nil {
		t.Error("the check made a folder")
	}
}

// A file that ends too early is not a profile.
func TestAProfileIsReadToItsEnd(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(strings.Repeat("sample", 100)))
	z.Close()
	path := filepath.Join(t.TempDir(), "cpu.pprof")
	for n := b.Len(); n >= 0; n-- {
		if err := os.WriteFile(path, b.Bytes()[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := wholeProfile(path); (err == nil) != (n == b.Len()) {
			t.Errorf("%d bytes of %d: %v", n, b.Len(), err)
		}
	}
}

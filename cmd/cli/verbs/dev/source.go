package dev

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tendon/cmd/cli/internal/app"
)

// source is the package of this program.
type source struct {
	pkg   string   // as an argument of go build
	flags []string // of this build
}

// findSource finds the package of this program from the working directory.
func findSource(ctx context.Context) (s source, err error) {
	s.flags = app.BuildFlags()
	if s.pkg, err = app.Package(); err != nil {
		return s, err
	}
	if out, err := command(ctx, "go", "list", s.pkg); err != nil {
		return s, fmt.Errorf("the package of this program, %s, is not found from here: run dev in the module of the game, as in go run . dev\n%s", s.pkg, out)
	}
	return s, nil
}

// command runs a command of this process's environment and returns all its output.
func command(ctx context.Context, name string, args ...string) ([]byte, error) {
	return exec.CommandContext(ctx, name, args...).CombinedOutput()
}

// files are the files of which a build is made: all Go files of some directories, and single files.
type files struct {
	dirs, single []string
}

// list returns the files of the program's packages that are not in the module cache.
func (s *source) list(ctx context.Context) (f files, err error) {
	args := append(append([]string{"list", "-deps", "-json=Dir,EmbedFiles,Standard,Module"}, s.flags...), s.pkg)
	out, err := exec.CommandContext(ctx, "go", args...).Output()
	if err != nil {
		why := err.Error()
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			why = string(exit.Stderr)
		}
		return f, fmt.Errorf("the files of %s cannot be listed: %s", s.pkg, strings.TrimSpace(why))
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir        string
			EmbedFiles []string
			Standard   bool
			Module     *struct {
				Main    bool
				GoMod   string
				Version string
				Replace *struct{ Version string }
			}
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return f, nil
		} else if err != nil {
			return f, err
		}
		m := p.Module
		if p.Standard || m == nil || !m.Main && (m.Replace == nil || m.Replace.Version != "") {
			continue
		}
		f.dirs = append(f.dirs, p.Dir)
		if !slices.Contains(f.single, m.GoMod) {
			f.single = append(f.single, m.GoMod)
		}
		for _, e := range p.EmbedFiles {
			f.single = append(f.single, filepath.Join(p.Dir, e))
		}
	}
}

// stamp is when a file was written, and its size.
type stamp struct {
	at   time.Time
	size int64
}

// state returns the stamp of each file.
func (f *files) state() map[string]stamp {
	stamps := map[string]stamp{}
	add := func(path string) {
		if info, err := os.Stat(path); err == nil {
			stamps[path] = stamp{info.ModTime(), info.Size()}
		}
	}
	for _, dir := range f.dirs {
		entries, _ := os.ReadDir(dir) // a directory that is gone has no files
		for _, e := range entries {
			if name := e.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
				add(filepath.Join(dir, name))
			}
		}
	}
	for _, path := range f.single {
		add(path)
	}
	return stamps
}

// build is a program that was built.
type build struct {
	version
	path string
	took time.Duration
}

// maxBuilds is how many builds are kept for replay.
const maxBuilds = 10

// errBuild is wrapped by errors in the program of the game. The present match continues after them.
var errBuild = errors.New("the new build is not used")

// build builds the program and checks that it can continue the present match.
func (s *session) build(ctx context.Context) (*build, error) {
	begun := time.Now()
	path := filepath.Join(s.builds, "next"+filepath.Ext(app.BuildFile("")))
	args := append(append([]string{"build", "-buildvcs=false", "-o", path}, s.source.flags...), s.source.pkg)
	if out, err := command(ctx, "go", args...); err != nil {
		if len(out) == 0 { // otherwise the compiler says more
			return nil, fmt.Errorf("%w: %w", errBuild, err)
		}
		return nil, fmt.Errorf("%w:\n%s", errBuild, bytes.TrimSpace(out))
	}
	b := &build{took: time.Since(begun)}
	probe := exec.CommandContext(ctx, path, "dev", "--check", "--json")
	if s.current != nil {
		probe.Stdin = strings.NewReader(s.current.Layout)
	}
	out, err := probe.Output()
	first, _, _ := bytes.Cut(out, []byte("\n"))
	var answer struct {
		version
		Error string
	}
	if bad := json.Unmarshal(first, &answer); err == nil {
		err = bad
	}
	if err != nil {
		why := answer.Error
		if exit := (*exec.ExitError)(nil); why == "" && errors.As(err, &exit) {
			why = strings.TrimSpace(string(exit.Stderr))
		}
		return nil, fmt.Errorf("%w: %s", errBuild, why)
	}
	b.version, b.path = answer.version, filepath.Join(s.builds, app.BuildFile(answer.Build))
	if err := os.Rename(path, b.path); err != nil {
		return nil, err
	}
	s.prune()
	return b, nil
}

// prune removes all builds but the newest and the one that runs.
func (s *session) prune() {
	entries, _ := os.ReadDir(s.builds)
	slices.SortFunc(entries, func(x, y os.DirEntry) int {
		a, _ := x.Info()
		b, _ := y.Info()
		if a == nil || b == nil {
			return 0
		}
		return b.ModTime().Compare(a.ModTime())
	})
	for i, e := range entries {
		if i >= maxBuilds && (s.current == nil || e.Name() != filepath.Base(s.current.path)) {
			_ = os.Remove(filepath.Join(s.builds, e.Name())) // the next build tries it again
		}
	}
}

// readAll reads a small input.
func readAll(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, 1<<20)) }

package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tendon/ecs/race"
)

// make runs the verb, and returns its folder.
func (v newVerb) make(t *testing.T, name string) string {
	if v.Template == "" {
		v.Template = "action"
	}
	v.Dir = filepath.Join(t.TempDir(), name)
	var out bytes.Buffer
	if err := v.run(&out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "go run . play") {
		t.Errorf("prints %q", out.String())
	}
	return v.Dir
}

// The module builds with the engine of this clone, without a download.
func TestANewModuleUsesTheClone(t *testing.T) {
	dir := newVerb{Module: "example.com/games/stars"}.make(t, "mine")
	list := func(args ...string) string {
		cmd := exec.Command("go", append([]string{"list", "-mod=readonly"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOPROXY=off", "GOWORK=off")
		output, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		return strings.TrimSpace(string(output))
	}
	here, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := filepath.EvalSymlinks(list("-m", "-f", "{{.Dir}}", "tendon")); err != nil || got != here {
		t.Errorf("the engine is in %s, want %s (%v)", got, here, err)
	}
	if got := list("."); got != "example.com/games/stars" {
		t.Error(got)
	}
	if got := list("-deps", "-f", "{{.ImportPath}}", "."); !strings.Contains(got, "tendon/cmd/cli") {
		t.Error("the game does not use the verbs")
	}
	for _, file := range []string{"main.go", "rules.go", "level.txt", "rules_test.go", "README.md", ".gitignore", "go.mod", "go.sum"} {
		if content, err := os.ReadFile(filepath.Join(dir, file)); err != nil || len(content) == 0 || bytes.Contains(content, []byte("{{.")) {
			t.Errorf("%s: %v\n%s", file, err, content)
		}
	}
}

// A module that uses a version of the engine makes modules that use the same version. A proxy in a folder serves it.
func TestANewModuleUsesAVersion(t *testing.T) {
	if !race.Long {
		t.Skip("it unpacks all libraries")
	}
	const path, version = "example.com/engine/tendon", "v0.1.0"
	output, err := in("../..", "go", "env", "GOMODCACHE", "GOPROXY")
	if err != nil {
		t.Fatal(err)
	}
	cache, proxies, _ := strings.Cut(strings.TrimSpace(string(output)), "\n") // the cache may lack what only tests of libraries need
	proxy := t.TempDir()
	publish(t, filepath.Join(proxy, filepath.FromSlash(path), "@v", version), path+"@"+version)
	t.Setenv("GOPROXY", "file://"+filepath.ToSlash(proxy)+",file://"+filepath.ToSlash(cache)+"/cache/download,"+proxies)
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOFLAGS", "-modcacherw")
	t.Setenv("GOSUMDB", "off")
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"go", "mod", "init", "tools"}, {"go", "mod", "edit", "-require", "tendon@v0.0.0", "-replace", "tendon=" + path + "@" + version},
		{"go", "get", "tendon/cmd/tendon"}} {
		if output, err := in(".", args...); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, output)
		}
	}
	dir := newVerb{}.make(t, "stars")
	if output, err := in(dir, "go", "list", "-m", "-f", "{{.Replace}}", "tendon"); err != nil || strings.TrimSpace(string(output)) != path+" "+version {
		t.Errorf("%v\n%s", err, output)
	}
	if output, err := in(dir, "go", "list", "-deps", "-test", "-tags", "headless", "./..."); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// publish writes the files of a proxy for this clone of the engine.
func publish(t *testing.T, name, prefix string) {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var content bytes.Buffer
	z := zip.NewWriter(&content)
	err = filepath.WalkDir("../..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if _, nested := os.Stat(filepath.Join(file, "go.mod")); err == nil && file != "../.." && (nested == nil || strings.HasPrefix(entry.Name(), ".")) {
				return filepath.SkipDir
			}
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		w, err := z.Create(prefix + "/" + strings.TrimPrefix(filepath.ToSlash(file), "../../"))
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	})
	if err = errors.Join(err, z.Close(), os.WriteFile(name+".zip", content.Bytes(), 0o666), os.WriteFile(name+".mod", mod, 0o666),
		os.WriteFile(name+".info", []byte(`{"Version":"`+filepath.Base(name)+`"}`), 0o666)); err != nil {
		t.Fatal(err)
	}
}

// The game of every template compiles. It is not part of the engine's own build.
func TestEveryTemplateCompiles(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs the compiler")
	}
	for _, game := range judged {
		if output, err := in(newVerb{Template: game.template}.make(t, "stars"), "go", "vet", "./..."); err != nil {
			t.Errorf("%s: %v\n%s", game.template, err, output)
		}
	}
}

// judged are the templates, each with a fault: in rules.go, old is replaced by new. The tests of the module then fail, and name
// the component.
var judged = []struct{ template, old, new, component string }{
	{"action", "e.A.Vel = e.A.Vel.Lerp(want", "calls++\n\t\te.A.Vel.X += fixed.Num(calls)\n\t\te.A.Vel = e.A.Vel.Lerp(want", "body"},
	{"orders", "for i, e := range m.Soldiers.All() {", "calls++\n\tm.To.X += fixed.Num(calls)\n\tfor i, e := range m.Soldiers.All() {", "soldier"},
	{"turns", "own.Cards--", "calls++\n\town.Points += uint32(calls)\n\town.Cards--", "place"},
}

// The game of every template is formatted, has no finding of the checker, passes its tests, and plays without a window. A
// fault in its rules fails its tests.
func TestANewGameWorks(t *testing.T) {
	if !race.Long {
		t.Skip("it compiles other programs")
	}
	tendon := filepath.Join(t.TempDir(), "tendon")
	build(t, ".", tendon, ".")
	for _, game := range judged {
		t.Run(game.template, func(t *testing.T) {
			dir := newVerb{Template: game.template}.make(t, "stars")
			for _, args := range [][]string{{"gofmt", "-l", "."}, {"go", "vet", "-tags", "headless", "./..."}, {tendon, "vet", "--tags", "headless", "./..."},
				{"go", "test", "-tags", "headless", "./..."}, {"go", "build", "-tags", "headless"}, {"./stars", "demo", "--for", "3s"},
				{"./stars", "lab", "--net", "P3", "--for", "2s", "--settle", "1s"}} {
				if output, err := in(dir, args...); err != nil || args[0] == "gofmt" && len(output) > 0 {
					t.Errorf("%v: %v\n%s", args, err, output)
				}
			}
			if runtime.GOOS != "windows" {
				loadServer(t, dir)
			}
			fault(t, dir, game.old, game.new)
			if output, err := in(dir, "go", "test", "-tags", "headless", "./..."); err == nil || !strings.Contains(string(output), game.component+" of entity") {
				t.Errorf("the fault is not found in %q: %v\n%s", game.component, err, output)
			}
		})
	}
}

// loadServer runs a server of the game in dir, and bots that play on it.
func loadServer(t *testing.T, dir string) {
	key := filepath.Join(t.TempDir(), "server.key")
	if err := os.WriteFile(key, []byte(strings.Repeat("k", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	server := exec.Command("./stars", "serve", "--listen", "127.0.0.1:0", "--key-file", key, "--json")
	server.Dir = dir
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Wait()
	defer server.Process.Signal(os.Interrupt)
	var event struct{ Public string }
	if err := json.NewDecoder(out).Decode(&event); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, out)
	if output, err := in(dir, "./stars", "bots", event.Public, "--key-file", key, "--rooms", "2", "--for", "3s"); err != nil {
		t.Errorf("bots: %v\n%s", err, output)
	}
}

// fault plants a fault in the rules: code that counts its calls outside the state.
func fault(t *testing.T, dir, old, new string) {
	file := filepath.Join(dir, "rules.go")
	content, err := os.ReadFile(file)
	if err != nil || strings.Count(string(content), old) != 1 {
		t.Fatalf("%v, %d places for the fault", err, strings.Count(string(content), old))
	}
	text := strings.Replace(string(content), old, new, 1) + "\nvar calls int64\n"
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// in runs a command in a folder.
func in(dir string, args ...string) (output []byte, err error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	return cmd.CombinedOutput()
}

// build builds a package in a folder.
func build(t *testing.T, dir, program, path string) {
	t.Helper()
	if output, err := in(dir, "go", "build", "-o", program, path); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}

// The verb writes nothing where a module cannot be made.
func TestAFolderInUseIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, v := range []struct {
		verb newVerb
		want string
	}{
		{newVerb{Dir: dir}, "not empty"},
		{newVerb{Dir: filepath.Join(dir, "notes")}, "notes"},
		{newVerb{Dir: filepath.Join(dir, "a b")}, "--module"},
		{newVerb{Dir: filepath.Join(dir, "func")}, "--module"},
		{newVerb{Dir: filepath.Join(dir, "fmt")}, "--module"},
		{newVerb{Dir: filepath.Join(dir, "mine"), Module: "net/http"}, "--module"},
		{newVerb{Dir: filepath.Join(dir, "cmd")}, "--module"},
		{newVerb{Dir: filepath.Join(dir, "mine"), Module: "tendon"}, "--module"},
	} {
		var out bytes.Buffer
		if err := v.verb.run(&out); err == nil || !strings.Contains(err.Error(), v.want) || out.Len() > 0 {
			t.Errorf("%+v: %v, %q", v.verb, err, out.String())
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// After an error, the files of the module are removed, and the folder only if it was made.
func TestAModuleThatCannotBeMadeIsRemoved(t *testing.T) {
	dir := newVerb{}.make(t, "stars")
	for _, all := range []bool{false, true} {
		if err := clean(dir, all); err != nil {
			t.Fatal(err)
		}
		if entries, err := os.ReadDir(dir); len(entries) > 0 || errors.Is(err, fs.ErrNotExist) != all {
			t.Errorf("%d entries are left, %v", len(entries), err)
		}
	}
}

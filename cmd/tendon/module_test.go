package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tendon/ecs/race"
)

// make runs the verb, and returns its folder.
func (v newVerb) make(t *testing.T, name string) string {
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

// The game is formatted, its tests pass, and it builds without a window.
func TestANewGameWorks(t *testing.T) {
	if !race.Long {
		t.Skip("it compiles another program")
	}
	dir := newVerb{}.make(t, "stars")
	for _, args := range [][]string{{"gofmt", "-l", "."}, {"go", "vet", "-tags", "headless", "./..."}, {"go", "test", "-tags", "headless", "./..."},
		{"go", "build", "-tags", "headless"}, {"./stars", "demo", "--for", "3s"}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		output, err := cmd.CombinedOutput()
		if err != nil || args[0] == "gofmt" && len(output) > 0 {
			t.Errorf("%v: %v\n%s", args, err, output)
		}
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

package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

type vetVerb struct {
	Packages []string `arg:"" optional:"" help:"Packages to check. Default: ./..."`
	JSON     bool     `help:"Print the findings as JSON."`
	Tags     string   `help:"Build tags, as in go build."`
	Path     bool     `help:"Print the path of the checker, for go vet -vettool."`
}

// Help follows the first line of the verb's help.
func (vetVerb) Help() string {
	return `The checker looks at systems, hooks and orders, and at everything that they
call. A comment //tendon:allow REASON silences a line. The first run builds the
checker and reads all imported packages, which takes some tens of seconds.

Examples:

    vet ./...
    vet --json ./rules
    go vet -vettool=$(go run ./cmd/tendon vet --path) ./...

Exit codes: 0 no findings, 1 findings, 2 wrong use or packages that do not build.`
}

// checkerFolder is the folder of the checker's module in a clone of the engine.
const checkerFolder = "cmd/tendonvet"

// run builds the checker if it has changed, and runs it. The result is the exit code of the checker.
func (v *vetVerb) run(out, errs io.Writer) (code int, err error) {
	e, err := findEngine()
	if err != nil {
		return 0, err
	}
	checker, err := e.buildChecker()
	if err != nil {
		return 0, err
	}
	if v.Path {
		fmt.Fprintln(out, checker)
		return 0, nil
	}
	cmd := exec.Command(checker, append([]string{fmt.Sprintf("--json=%t", v.JSON), "--tags=" + v.Tags, "--"}, v.Packages...)...)
	cmd.Stdout, cmd.Stderr = out, errs
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// buildChecker returns the path of the checker of an engine. It is a module of its own, so that games do not require its
// libraries.
func (e engine) buildChecker() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	id := sha256.Sum256([]byte(e.folder))
	dir := filepath.Join(cache, "tendon", fmt.Sprintf("%x", id[:8]))
	checker := filepath.Join(dir, "tendonvet")
	if runtime.GOOS == "windows" {
		checker += ".exe"
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", checker, ".")
	cmd.Dir = filepath.Join(e.folder, filepath.FromSlash(checkerFolder))
	if _, err := os.Stat(cmd.Dir); err != nil {
		return "", fmt.Errorf("the engine in %s has no %s: use a clone of its repository", e.folder, checkerFolder)
	}
	for _, variable := range os.Environ() { // the checker runs here, also for a game of another target
		if name, _, _ := strings.Cut(variable, "="); name != "GOOS" && name != "GOARCH" && name != "GOFLAGS" && name != "GOWORK" {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, "GOWORK=off")
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the checker cannot be built, and its libraries may have to be downloaded once: %s: %w\n%s", strings.Join(cmd.Args, " "), err, output)
	}
	return checker, nil
}

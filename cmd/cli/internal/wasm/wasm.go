// Package wasm compiles the running program for browsers.
package wasm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"

	"tendon/cmd/cli/page"
)

// Find returns the path of the package of a program; "": the program that runs. It returns an error if Build cannot compile it: the go
// command is missing, or the present folder is not in the program's module.
func Find(ctx context.Context, program string) (string, error) {
	if program == "" {
		info, ok := debug.ReadBuildInfo()
		if !ok || info.Path == "" || info.Path == "command-line-arguments" {
			return "", errors.New("the package of this program is not known: build it with go build or go run of a folder, not of files")
		}
		program = info.Path
	}
	output, err := exec.CommandContext(ctx, "go", "list", program).CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return "", errStopped
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("the program cannot be compiled for browsers: the go command is not found; install Go")
	case err != nil:
		return "", fmt.Errorf("the program cannot be compiled for browsers: run this in the folder of its module (%s)", bytes.TrimSpace(output))
	}
	return program, nil
}

var errStopped = errors.New("stopped: the program is not compiled, and nothing is written")

// Build compiles a program, whose path Find has returned, for GOOS=js, with further build tags.
func Build(ctx context.Context, program string, tags ...string) (p page.Program, err error) {
	dir, err := os.MkdirTemp("", "tendon-wasm-*")
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "program.wasm")
	// Functions of the standard library and of packages that are not hot are not inlined: the compressed program is 6 % smaller.
	cmd := exec.CommandContext(ctx, "go", "build", "-o", file, "-trimpath", "-ldflags", "-s -w", "-gcflags=std=-l", "-gcflags=tendon/net/...=-l",
		"-gcflags=tendon/cmd/cli/...=-l", "-gcflags=github.com/...=-l", "-gcflags=golang.org/...=-l", "-tags", strings.Join(tags, ","), program)
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOFLAGS=")
	if output, err := cmd.CombinedOutput(); ctx.Err() != nil {
		return p, errStopped
	} else if err != nil {
		return p, fmt.Errorf("the program cannot be compiled for browsers: %w\n%s", err, output)
	}
	if p.Wasm, err = os.ReadFile(file); err != nil {
		return p, err
	}
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return p, fmt.Errorf("go env GOROOT: %w", err)
	}
	p.Runtime, err = os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	return p, err
}

// Font returns the font that the page of a game loads after the program: see package window.
func Font(ctx context.Context) ([]byte, error) {
	dir, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "tendon/cmd/cli/window").Output()
	if err != nil {
		return nil, fmt.Errorf("the source of the engine is not found; run this in the folder of the game's module: %w", err)
	}
	return os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "font", "DroidSansFallback.ttf.gz"))
}

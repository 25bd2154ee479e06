// Command tendonvet reports rules of a game that are not deterministic. README.md lists its rules.
//
//	tendonvet ./...                              check packages; it runs go vet with itself as the tool
//	go vet -vettool=$(which tendonvet) ./...     the same, with the messages and exit codes of go vet
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis/unitchecker"

	"tendon/cmd/tendonvet/determinism"
)

// Exit codes.
const (
	exitFine     = 0
	exitFindings = 1
	exitUsage    = 2 // wrong use, or packages that do not build
)

func main() {
	if last := os.Args[len(os.Args)-1]; strings.HasSuffix(last, ".cfg") || strings.HasPrefix(last, "-V=") || last == "-flags" {
		underVet(last)
		return
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// underVet runs as the tool of go vet.
func underVet(config string) {
	if skip, err := skipUnit(config); err != nil {
		fmt.Fprintln(os.Stderr, "tendonvet:", err)
		os.Exit(exitFindings)
	} else if skip {
		return
	}
	unitchecker.Main(determinism.Analyzer)
}

// skipUnit handles a dependency that has no summaries, such as a package of the standard library: it writes an empty file.
func skipUnit(config string) (bool, error) {
	if !strings.HasSuffix(config, ".cfg") {
		return false, nil
	}
	content, err := os.ReadFile(config)
	if err != nil {
		return false, err
	}
	var unit unitchecker.Config
	if err := json.Unmarshal(content, &unit); err != nil {
		return false, err
	}
	if !unit.VetxOnly || !determinism.Skipped(unit.ImportPath) {
		return false, nil
	}
	return true, os.WriteFile(unit.VetxOutput, nil, 0o666)
}

const help = `Usage: tendonvet [--json] [package ...]

Report code that runs in a tick and is not deterministic: in systems, hooks and
orders, and in everything that they call. Without packages, check ./...

Examples:

    tendonvet ./...                                check a module
    tendonvet --json ./rules                       findings for programs
    go vet -vettool=$(which tendonvet) ./...       as a step of go vet

A comment //tendon:allow REASON silences its line, or the next line.

Flags:
      --json     print {"findings":[{"file","line","column","rule","message"}]}
      --tags     build tags, as in go build
  -h, --help     print this text

Exit codes: 0 no findings, 1 findings, 2 wrong use or packages that do not build.
`

// finding is one message with its place.
type finding struct {
	File    string `json:"file"` // relative to the present folder, if below it
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Rule    string `json:"rule"`
	Message string `json:"message"`
}

// run checks packages through go vet and prints the findings.
func run(args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("tendonvet", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	asJSON := flags.Bool("json", false, "")
	tags := flags.String("tags", "", "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(out, help)
		return exitFine
	case err != nil:
		fmt.Fprintf(errs, "tendonvet: %v; see tendonvet --help\n", err)
		return exitUsage
	}
	findings, err := check(*tags, flags.Args())
	if err != nil {
		fmt.Fprintln(errs, "tendonvet:", err)
		return exitUsage
	}
	if *asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(struct {
			Findings []finding `json:"findings"`
		}{findings})
	} else {
		for _, f := range findings {
			fmt.Fprintf(out, "%s:%d:%d: %s (%s)\n", f.File, f.Line, f.Column, f.Message, f.Rule)
		}
	}
	if len(findings) > 0 {
		return exitFindings
	}
	return exitFine
}

// check returns the findings of packages. go vet keeps the results of packages that have not changed.
func check(tags string, packages []string) ([]finding, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if len(packages) == 0 {
		packages = []string{"./..."}
	}
	cmd := exec.Command("go", slices.Concat([]string{"vet", "-vettool=" + self, "-json", "-tags=" + tags, "--"}, packages)...)
	var text strings.Builder
	cmd.Stderr = &text
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go vet: %s", cmp.Or(strings.TrimSpace(text.String()), err.Error()))
	}
	return parse(output)
}

// parse reads the output of go vet -json: an object for each package.
func parse(output []byte) ([]finding, error) {
	findings := []finding{}
	here, _ := os.Getwd()
	decoder := json.NewDecoder(strings.NewReader(string(output)))
	for {
		var packages map[string]map[string]json.RawMessage
		if err := decoder.Decode(&packages); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go vet printed no JSON: %w", err)
		}
		for _, analyzers := range packages {
			for _, content := range analyzers {
				var list []struct{ Category, Posn, Message string }
				if err := json.Unmarshal(content, &list); err != nil {
					return nil, fmt.Errorf("the analysis failed: %s", content)
				}
				for _, d := range list {
					f := finding{Rule: d.Category, Message: d.Message}
					f.place(d.Posn, here)
					findings = append(findings, f)
				}
			}
		}
	}
	slices.SortFunc(findings, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(findings), nil
}

// place reads a position, file:line:column.
func (f *finding) place(position, here string) {
	parts := strings.Split(position, ":")
	if n := len(parts); n >= 3 {
		f.Line, _ = strconv.Atoi(parts[n-2])
		f.Column, _ = strconv.Atoi(parts[n-1])
		position = strings.Join(parts[:n-2], ":")
	}
	f.File = position
	if rel, err := filepath.Rel(here, position); err == nil && !strings.HasPrefix(rel, "..") {
		f.File = rel
	}
}

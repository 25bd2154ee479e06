package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"text/template"
)

//go:embed common action orders turns
var templates embed.FS

// modulePath matches the paths of modules that can be built.
var modulePath = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~-]*(/[A-Za-z0-9][A-Za-z0-9._~-]*)*$`)

// run makes the module, and prints the next commands.
func (v *newVerb) run(out io.Writer) error {
	dir, err := filepath.Abs(v.Dir)
	if err != nil {
		return err
	}
	module := v.Module
	if module == "" {
		module = filepath.Base(dir)
	}
	name := path.Base(module)
	if !modulePath.MatchString(module) || module == "tendon" || strings.HasPrefix(module, "tendon/") || token.IsKeyword(name) {
		return fmt.Errorf("%q cannot be the path of a game's module: choose another one with --module", module)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: choose another folder", dir)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	e, err := findEngine()
	if err != nil {
		return err
	}
	if err := writeFiles(dir, v.Template, struct{ Module, Name string }{module, name}); err != nil {
		return err
	}
	if err := e.require(dir, module); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s is the module of a game. Next:\n\n    cd %s\n    go run . play --net P3    # in a window, over a typical network\n    go run . dev              # save a file, and the match goes on with the new rules\n    go test ./...\n", v.Dir, v.Dir)
	return nil
}

// writeFiles writes the files of a template, and those that all templates have.
func writeFiles(dir, name string, data any) error {
	all, err := template.ParseFS(templates, "common/*.tmpl", name+"/*.tmpl")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, t := range all.Templates() {
		file := strings.TrimSuffix(t.Name(), ".tmpl")
		if file == "gitignore" {
			file = ".gitignore"
		}
		var content bytes.Buffer
		if err := t.Execute(&content, data); err != nil {
			return err
		}
		text := content.Bytes()
		if path.Ext(file) == ".go" {
			if text, err = format.Source(text); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// engine is where the new module finds the engine: in a folder, or at a version.
type engine struct {
	folder  string
	version string
}

// findEngine returns the clone that the present folder belongs to or uses, else the version of this program.
func findEngine() (engine, error) {
	output, err := exec.Command("go", "list", "-m", "-json", "tendon").Output()
	var m struct {
		Dir     string
		Main    bool
		Replace *struct{ Dir string }
	}
	if err == nil && json.Unmarshal(output, &m) == nil {
		switch {
		case m.Main:
			return engine{folder: m.Dir}, nil
		case m.Replace != nil:
			return engine{folder: m.Replace.Dir}, nil
		}
	}
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Path == "tendon" && strings.HasPrefix(b.Main.Version, "v") && !strings.Contains(b.Main.Version, "+") {
		return engine{version: b.Main.Version}, nil
	}
	return engine{}, errors.New("the engine is not found: run this command in a clone of it, or with a version, as in go run tendon/cmd/tendon@latest")
}

// require writes the go.mod and go.sum of a module. With a clone, both have the contents of the clone's. So the module builds without
// a download that the clone did not need.
func (e engine) require(dir, module string) error {
	file := filepath.Join(dir, "go.mod")
	if e.folder == "" {
		content := fmt.Sprintf("module %s\n\ngo 1.26.0\n\nrequire tendon %s\n", module, e.version)
		if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
			return err
		}
		return command(dir, "go", "mod", "tidy")
	}
	mod, err := os.ReadFile(filepath.Join(e.folder, "go.mod"))
	if err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(e.folder, "go.sum"))
	if err != nil {
		return err
	}
	folder, err := filepath.Rel(dir, e.folder)
	if err != nil {
		folder = e.folder
	}
	var content strings.Builder
	fmt.Fprintf(&content, "module %s\n\ngo 1.26.0\n\nrequire tendon v0.0.0\n\nreplace tendon => %s\n\nrequire (\n", module, filepath.ToSlash(folder))
	for line := range strings.Lines(string(mod)) {
		if requirement := strings.Fields(line); strings.HasPrefix(line, "\t") && len(requirement) > 1 {
			fmt.Fprintf(&content, "\t%s %s // indirect\n", requirement[0], requirement[1])
		}
	}
	content.WriteString(")\n")
	return errors.Join(os.WriteFile(file, []byte(content.String()), 0o666), os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o666))
}

// command runs a command in a folder. The error contains its output.
func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, output)
	}
	return nil
}

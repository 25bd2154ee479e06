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
	if !modulePath.MatchString(module) || module == "tendon" || strings.HasPrefix(module, "tendon/") || token.IsKeyword(name) || standard(module) {
		return fmt.Errorf("%q cannot be the path of a game's module: choose another one with --module", module)
	}
	entries, err := os.ReadDir(dir)
	missing := errors.Is(err, os.ErrNotExist)
	switch {
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty: choose another folder", dir)
	case err != nil && !missing:
		return err
	}
	e, err := findEngine()
	if err != nil {
		return err
	}
	if err = writeFiles(dir, v.Template, struct{ Module, Name string }{module, name}); err == nil {
		err = e.require(dir, module)
	}
	if err != nil {
		return errors.Join(err, clean(dir, missing))
	}
	fmt.Fprintf(out, "%s is the module of a game. Next:\n\n    cd %s\n    go run . play --net P3    # in a window, over a typical network\n    go run . dev              # save a file, and the match goes on with the new rules\n    go test ./...\n", v.Dir, v.Dir)
	return nil
}

// standard reports whether a path is one of the standard library, which the go command prefers to that of a module.
func standard(module string) bool {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return false
	}
	info, err := os.Stat(filepath.Join(strings.TrimSpace(string(root)), "src", filepath.FromSlash(module)))
	return err == nil && info.IsDir()
}

// clean removes the files of a module that could not be made, so that the command can be repeated. If all is true, it also removes the folder.
func clean(dir string, all bool) error {
	if all {
		return os.RemoveAll(dir)
	}
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, entry.Name())))
	}
	return err
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

// engine is the engine that the new module uses: the clone in folder, or the version of the module path, which is in folder too.
type engine struct {
	folder        string
	path, version string // empty for a clone
}

// findEngine returns the engine that the module of the present folder is or uses. The engine's path has no host, so a module
// that uses it has a replacement: a folder, or a path with a version.
func findEngine() (engine, error) {
	output, err := exec.Command("go", "list", "-m", "-json", "tendon").Output()
	var m struct {
		Dir     string
		Main    bool
		Replace *struct{ Path, Version, Dir string }
	}
	if err == nil && json.Unmarshal(output, &m) == nil {
		switch {
		case m.Main:
			return engine{folder: m.Dir}, nil
		case m.Replace != nil && m.Replace.Version != "":
			return engine{folder: m.Replace.Dir, path: m.Replace.Path, version: m.Replace.Version}, nil
		case m.Replace != nil:
			return engine{folder: m.Replace.Dir}, nil
		}
	}
	return engine{}, errors.New("the engine is not found: run this command in a clone of it, or in a module that uses it; guides/YOUR_MODULE.md shows both")
}

// require writes the go.mod and go.sum of a module. Both have the contents of the engine's. So the module builds without a download
// that the engine did not need.
func (e engine) require(dir, module string) error {
	mod, err := os.ReadFile(filepath.Join(e.folder, "go.mod"))
	if err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(e.folder, "go.sum"))
	if err != nil {
		return err
	}
	by := e.path + " " + e.version
	if e.version == "" {
		folder, err := filepath.Rel(dir, e.folder)
		if err != nil {
			folder = e.folder
		}
		by = filepath.ToSlash(folder)
	}
	var content strings.Builder
	fmt.Fprintf(&content, "module %s\n\ngo 1.26.0\n\nrequire tendon v0.0.0\n\nreplace tendon => %s\n\nrequire (\n", module, by)
	for line := range strings.Lines(string(mod)) {
		if requirement := strings.Fields(line); strings.HasPrefix(line, "\t") && len(requirement) > 1 {
			fmt.Fprintf(&content, "\t%s %s // indirect\n", requirement[0], requirement[1])
		}
	}
	content.WriteString(")\n")
	err = errors.Join(os.WriteFile(filepath.Join(dir, "go.mod"), []byte(content.String()), 0o666), os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o666))
	if err == nil && e.version != "" {
		err = command(dir, "go", "mod", "tidy") // adds the sum of the engine
	}
	return err
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

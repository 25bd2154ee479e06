package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/ecs/race"
)

// root is the module's directory, relative to this package.
const root = "../.."

// guide is a Markdown file of the module.
type guide struct {
	path   string // below root
	blocks []block
	prose  string   // the text outside of blocks
	inline []string // the text between backticks in the prose
}

// code returns the texts that may contain commands.
func (g *guide) code() []string {
	list := slices.Clone(g.inline)
	for _, b := range g.blocks {
		list = append(list, b.text)
	}
	return list
}

// block is the text between two fences.
type block struct{ language, text string }

// guides reads all guides.
func guides(t *testing.T) (list []guide) {
	t.Helper()
	each(t, ".md", func(path, text string) { list = append(list, readGuide(path, text)) })
	if len(list) < 4 {
		t.Fatalf("%d guides were found: the test reads the wrong files", len(list))
	}
	return list
}

// each calls f with every file of the module with this suffix, except in hidden directories.
func each(t *testing.T, suffix string, f func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != root:
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, suffix):
			return nil
		}
		text, err := os.ReadFile(path)
		f(strings.TrimPrefix(filepath.ToSlash(path), root+"/"), string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

var backticks = regexp.MustCompile("`([^`\n]+)`")

func readGuide(path, text string) guide {
	g := guide{path: path}
	inside := false
	for line := range strings.Lines(text) {
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && !inside:
			g.blocks = append(g.blocks, block{language: strings.TrimSpace(language)})
			inside = true
		case fence:
			inside = false
		case inside:
			g.blocks[len(g.blocks)-1].text += line
		default:
			g.prose += line
			for _, found := range backticks.FindAllStringSubmatch(line, -1) {
				g.inline = append(g.inline, found[1])
			}
		}
	}
	return g
}

// commands returns the words of every command in a text, without redirections and pipes.
func commands(text string) (list [][]string) {
	for line := range strings.Lines(continued.ReplaceAllString(text, " ")) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "  ") // the rest is an explanation
		words := []string{}
		for _, word := range shellWord.FindAllString(line, -1) {
			if strings.HasPrefix(word, "#") {
				break
			}
			if strings.ContainsAny(word[:1], "|&;><") {
				list, words = append(list, words), []string{}
				continue
			}
			words = append(words, strings.Trim(word, `'"`))
		}
		list = append(list, words)
	}
	return list
}

// continued is the end of a line whose command continues on the next.
var continued = regexp.MustCompile(`[ \t]*\\\n\s*`)

// shellWord matches one argument of a command: quoted, or up to the next blank.
var shellWord = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)

// ours matches a game's program in a guide: go run ./cmd/arena, ./arena, /usr/local/bin/arena.
var ours = regexp.MustCompile(`(^|[/=])(arena|dots|bunnymark)$`)

// arguments returns the arguments of a game's program; ok is false if a command runs another program or builds one.
func arguments(words []string) (args []string, ok bool) {
	i := slices.IndexFunc(words, ours.MatchString)
	if i < 0 || slices.Contains(words[:i], "build") || slices.Contains(words[:i], "COPY") || i+1 == len(words) || !word.MatchString(words[i+1]) {
		return nil, false
	}
	return words[i+1:], true
}

// word matches a possible verb.
var word = regexp.MustCompile(`^[a-z]+$`)

// Verbs, flags and values in guides exist.
func TestEveryCommandOfTheGuidesIsValid(t *testing.T) {
	race.OneGoroutine(t)
	seen := 0
	check := func(where, text string) {
		for _, words := range commands(text) {
			args, ok := arguments(words)
			if !ok && len(words) > 1 && slices.Contains(everyVerb, words[0]) && strings.HasPrefix(words[1], "--") {
				args, ok = complete(words), true // `serve --journal DIR` in a sentence
			}
			if ok {
				seen++
				valid(t, where, args)
			}
		}
	}
	for _, g := range guides(t) {
		for _, text := range g.code() {
			check(g.path, text)
		}
	}
	each(t, ".go", func(path, text string) {
		for line := range strings.Lines(text) {
			if command, ok := strings.CutPrefix(line, "//\t"); ok {
				check(path, command)
			}
		}
	})
	if seen < 20 {
		t.Errorf("%d commands were found in the guides: the test reads the wrong files", seen)
	}
}

func TestEveryExampleOfTheHelpIsValid(t *testing.T) {
	race.OneGoroutine(t)
	for _, verb := range everyVerb {
		_, examples, _ := strings.Cut(do(t, crumbs.Game(), verb, "--help").out, "Examples, after "+app.Program()+":\n\n")
		examples, _, _ = strings.Cut(examples, "\n\n")
		for _, words := range commands(examples) {
			valid(t, verb+" --help", words)
		}
	}
}

// valid fails unless the arguments are a valid command line.
func valid(t *testing.T, where string, args []string) {
	t.Helper()
	note := newPipe()
	a := app.New(t.Context(), crumbs.Game(), newPipe(), note)
	if command, code := parse(a, args); command == nil && code != app.ExitFine {
		t.Errorf("%s: %q: %s", where, strings.Join(args, " "), note)
	}
}

// complete adds the required arguments that a sentence omits from a command.
func complete(args []string) []string {
	args = slices.Clone(args)
	moderates := slices.Contains([]string{"players", "kick", "ban", "switch", "pause", "resume"}, args[0])
	if moderates || slices.Contains([]string{"replay", "join", "token", "bots"}, args[0]) {
		args = slices.Insert(args, 1, "WHERE")
	}
	if moderates && !slices.Contains(args, "--admin-token-file") {
		args = append(args, "--admin-token-file", "FILE")
	}
	if slices.Contains([]string{"token", "bots", "backend"}, args[0]) && !slices.Contains(args, "--key-file") {
		args = append(args, "--key-file", "FILE")
	}
	return args
}

func TestEveryFlagThatTheGuidesNameExists(t *testing.T) {
	var help strings.Builder
	for _, verb := range everyVerb {
		help.WriteString(do(t, crumbs.Game(), verb, "--help").out)
	}
	flag := regexp.MustCompile(`^--[a-z][a-z-]*`)
	for _, g := range guides(t) {
		for _, text := range g.inline {
			if name := flag.FindString(text); name != "" && !regexp.MustCompile(name+`\b[^-]`).MatchString(help.String()) {
				t.Errorf("%s names %s, but no verb has this flag", g.path, text)
			}
		}
	}
}

// A go test command that matches no test succeeds.
func TestEveryTestThatTheGuidesNameExists(t *testing.T) {
	for _, g := range guides(t) {
		for _, text := range g.code() {
			for _, words := range commands(text) {
				if i := slices.Index(words, "test"); i > 0 && words[i-1] == "go" {
					checkTest(t, g.path, words[i+1:])
				}
			}
		}
	}
}

// checkTest fails if a go test command names a missing package, test or benchmark.
func checkTest(t *testing.T, guide string, words []string) {
	for _, dir := range words {
		if !strings.HasPrefix(dir, "./") || dir == "./..." {
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, strings.TrimSuffix(dir, "/..."), "*_test.go"))
		if err != nil || len(files) == 0 && !strings.HasSuffix(dir, "/...") {
			t.Errorf("%s: go test %s: no tests are there", guide, strings.Join(words, " "))
			continue
		}
		var patterns []string
		for i, word := range words {
			if (word == "-run" || word == "-bench") && words[i+1] != "^$" { // which runs nothing
				patterns = append(patterns, strings.Split(words[i+1], "|")...)
			}
		}
		for _, pattern := range patterns {
			named := func(file string) bool {
				text, err := os.ReadFile(file)
				for _, f := range testFunction.FindAllStringSubmatch(string(text), -1) {
					if regexp.MustCompile(pattern).MatchString(f[1]) {
						return true
					}
				}
				return err != nil
			}
			if !slices.ContainsFunc(files, named) {
				t.Errorf("%s: go test %s: none is called %s", guide, strings.Join(words, " "), pattern)
			}
		}
	}
}

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Example|Fuzz|Benchmark)\w*)\(`)

// The Go code of a guide is copied from files that are compiled and tested. A line of // … stands for omitted lines.
func TestTheGoCodeOfEveryGuideIsFromAFile(t *testing.T) {
	var sources []string
	for _, suffix := range []string{".go", ".go.tmpl"} { // tests of cmd/tendon compile and run the templates
		each(t, suffix, func(_, text string) { sources = append(sources, bare(text)) })
	}
	for _, g := range guides(t) {
		for _, b := range g.blocks {
			if b.language == "go" && !slices.ContainsFunc(sources, func(source string) bool { return holds(source, b.text) }) {
				t.Errorf("%s: no file of the module has these lines:\n%s", g.path, b.text)
			}
		}
	}
}

// holds reports whether a bare source contains the pieces of an excerpt, in order.
func holds(source, excerpt string) bool {
	for piece := range strings.SplitSeq(excerpt, "// …\n") {
		_, rest, found := strings.Cut(source, bare(piece))
		if !found {
			return false
		}
		source = "\n" + rest
	}
	return true
}

// bare returns a source without indentation, blank lines and comment lines.
func bare(source string) string {
	var b strings.Builder
	b.WriteByte('\n')
	for line := range strings.Lines(source) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func TestEveryFileThatTheGuidesLinkToIsThere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)
	for _, g := range guides(t) {
		for _, found := range link.FindAllStringSubmatch(g.prose, -1) {
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(g.path), found[1])); err != nil {
				t.Errorf("%s links to %s: %v", g.path, found[1], err)
			}
		}
	}
}

package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/page/pagetest"
)

// checkedLines checks each line of --json. The names of columns are data.
func checkedLines(t *testing.T, out string) {
	t.Helper()
	for line := range strings.Lines(out) {
		pagetest.CheckJSON(t, []byte(line), "columns")
	}
}

// The JSON of verbs is in snake_case, and ids of 64 bits are strings.
func TestJSONOfVerbsIsInSnakeCaseAndIdsAreStrings(t *testing.T) {
	dir := t.TempDir()
	key, db := filepath.Join(dir, "server.key"), filepath.Join(dir, "matches.db")
	recordedIn(t, db)
	path := recordedFile(t, crumbs.Game(), "match", 300)
	id, _ := crumbOf(t, path, 300)
	tokenFor(t, "127.0.0.1:7777", key, "--new-key")
	s := background(t, crumbs.Game(), "serve", "--json", "--listen", "127.0.0.1:0", "--key-file", key)
	address := awaitEvent(t, s.out, s.ended, "listening").text("public")
	seed := strconv.FormatUint(1<<64-1, 10)
	none := filepath.Join(dir, "none")
	short := []string{"demo", "join", "bots"} // may end before the match is loaded
	for _, args := range [][]string{
		{"synctest", "--ticks", "80", "--seed", seed}, {"token", address, "--key-file", key, "--client-id", seed},
		{"matches", "--file", db}, {"matches", "--file", none}, {"replay", path}, {"replay", path, "--dump"},
		{"replay", path, "--verify"}, {"replay", path, "--at", "300"}, {"replay", path, "--at", "300", "--entity", id},
		{"replay", path, "--field", "wear.Left", "--entity", id}, {"replay", path, recordedFile(t, crumbs.Game(), "second", 200)},
		{"lab", "--sync", "lockstep,relay", "--net", "P3", "--for", "1s", "--settle", "0s", "--seed", seed},
		{"demo", "--for", "300ms", "--seed", seed}, {"join", address, "--token", tokenFor(t, address, key), "--headless", "--for", "300ms"},
		{"bots", address, "--key-file", key, "--rooms", "1", "--players", "2", "--for", "300ms"},
	} {
		r := do(t, crumbs.Game(), append(args, "--json")...)
		if fails := strings.Contains(r.out, `"event":"error"`); r.out == "" || fails && !slices.Contains(short, args[0]) && args[len(args)-1] != none {
			t.Errorf("%q: exit code %d, %s%s", args, r.code, r.out, r.note)
		}
		checkedLines(t, r.out)
	}
	s.stop()
	<-s.ended
	checkedLines(t, s.out.String())
}

// Every field of JSON in the project has a name in snake_case, and identities of 64 bits are encoded as strings. These are
// the fields of verbs, pages, stored records, queries and of the admin server.
func TestFieldsOfJSONAreInSnakeCaseAndIdsAreStrings(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	ids := []string{"id", "match", "client", "client_id", "seed", "checksum", "claim", "own", "fingerprint", "before", "next"}
	foreign := []string{"net/agones/client.go countDiff"}                               // of the interface of another program
	old := map[string]bool{"id Key": true, "match Number": true, "client Number": true} // of records of earlier builds
	seen := 0
	each(t, ".go", func(path, text string) {
		if strings.HasSuffix(path, "_test.go") || !strings.Contains(text, "json:") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			f, ok := n.(*ast.Field)
			if !ok || f.Tag == nil {
				return true
			}
			tag, _ := strconv.Unquote(f.Tag.Value)
			words := strings.Split(reflect.StructTag(tag).Get("json"), ",")
			if words[0] == "" || words[0] == "-" {
				return true
			}
			seen++
			if !name.MatchString(words[0]) && !slices.Contains(foreign, path+" "+words[0]) {
				t.Errorf("%s: the field %q of JSON is not in snake_case", path, words[0])
			}
			kind := strings.TrimPrefix(text[f.Type.Pos()-1:f.Type.End()-1], "*")
			if wide := slices.Contains([]string{"uint64", "int64", "image.Checksum", "Checksum", "ecs.Entity"}, kind); wide && slices.Contains(ids, words[0]) && !slices.Contains(words, "string") && !old[words[0]+" "+f.Names[0].Name] {
				t.Errorf("%s: %q is a number of 64 bits: add \",string\" to its tag", path, words[0])
			}
			return true
		})
	})
	if seen < 200 {
		t.Errorf("%d fields were found: the test reads the wrong files", seen)
	}
}

package demo

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/alecthomas/kong"

	"tendon/cmd/arena/rules"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/ecs/race"
	"tendon/rollback/record"
)

// A run leaves the page of its own recording, and no other file.
func TestARunLeavesItsReplay(t *testing.T) {
	if !race.Long && os.Getenv("TENDON_BROWSER") != "1" {
		t.Skip("it compiles a program and plays in real time")
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o777); err != nil {
		t.Fatal(err)
	}
	var out, note bytes.Buffer
	a := app.New(context.Background(), rules.Game(), &out, &note)
	a.Common.JSON = true
	var v Verb
	flags, err := kong.New(&v, syncflags.Vars(a.Game))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := flags.Parse([]string{"--bots=2", "--for=4s", "--seed=5", "--export", filepath.Join(dir, "site")}); err != nil {
		t.Fatal(err)
	}
	v.Program = "tendon/cmd/arena"
	if err := v.Run(a); err != nil {
		t.Fatalf("%v\n%s", err, &note)
	}
	for _, name := range []string{"index.html", "worker.js", "program.wasm.gz", "assets/painter.js"} {
		if _, err := os.Stat(filepath.Join(v.Export, name)); err != nil {
			t.Error(err)
		}
	}
	data, err := os.ReadFile(filepath.Join(v.Export, "recording-1.bin"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(data, a.Game)
	if err != nil || !r.Ended() || r.Last().Tick < 60 {
		t.Fatalf("%v: %+v", err, r)
	}
	if _, err := r.Verify(r.Last().Tick); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "tmp", "demo-*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

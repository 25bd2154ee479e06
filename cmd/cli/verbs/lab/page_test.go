package lab

import (
	"bytes"
	"encoding/json"
	"image/gif"
	"io"
	"os"
	"path/filepath"
	"testing"

	"tendon/cmd/arena/rules"
	"tendon/cmd/cli/internal/app"
	"tendon/ecs/race"
)

// The command writes an animation, small enough for a README, in which most pictures differ from the one before.
func TestThePictureIsAnAnimation(t *testing.T) {
	if !race.Long {
		t.Skip("it draws 128 pictures; labpage tests a shorter film")
	}
	file := filepath.Join(t.TempDir(), "lab.gif")
	var out bytes.Buffer
	a := app.New(t.Context(), rules.Game(), &out, io.Discard)
	a.Common.JSON = true
	v := Verb{Sync: "lockstep,relay", Picture: file, Players: 2, Seed: 5}
	v.For, v.Settle, v.BrowseFlags.Listen = defaultFor, defaultSettle, "127.0.0.1:0"
	if err := v.Run(a); err != nil {
		t.Fatal(err)
	}
	var event struct{ Pictures, Bytes int }
	if err := json.Unmarshal(out.Bytes(), &event); err != nil || event.Pictures != 128 || event.Bytes > 1.5e6 {
		t.Errorf("%s (%v); want 128 pictures in at most 1.5 MB", &out, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gif.DecodeAll(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	differ := 0
	for i, m := range g.Image {
		if g.Delay[i] != 5 {
			t.Errorf("picture %d is shown for %d hundredths of a second, want 5", i, g.Delay[i])
		}
		if m.Rect.Dx() > 1 {
			differ++
		}
	}
	if len(g.Image) != 128 || differ < 100 {
		t.Errorf("%d of %d pictures differ", differ, len(g.Image))
	}
}

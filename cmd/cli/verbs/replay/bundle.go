package replay

import (
	"errors"
	"fmt"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/replaypage"
	"tendon/rollback/record/bundle"
)

// maxPlaces bounds the differences that are named.
const maxPlaces = 8

// openBundle shows a desync bundle: its differences, or one of its ticks.
func (v *Verb) openBundle(a *app.App, data []byte) error {
	if v.Second != "" || v.Verify || v.Dump || v.To > 0 && v.Field == "" {
		return errors.New("a desync bundle is shown as it is, or with --at, --entity and --field: leave the other flags out")
	}
	b, err := bundle.Open(data, a.Game)
	if errors.Is(err, bundle.ErrVersion) {
		return fmt.Errorf("%s cannot be opened: %w; open it with the build that wrote it", v.File, err)
	}
	if err != nil {
		return refusal(v.File, err)
	}
	switch {
	case v.Field != "":
		return v.series(a, b.Here)
	case v.At != nil:
		return v.inspect(a, b.Here)
	}
	x, err := b.Examine(maxPlaces)
	if err != nil {
		return refusal(v.File, err)
	}
	t := app.NewTable("")
	t.AppendHeader([]any{"column", "here", "there", ""})
	for _, c := range x.Columns {
		mark := ""
		if c.There != "" && c.There != c.Here {
			mark = "differs"
		}
		t.AppendRow([]any{c.Name, c.Here, c.There, mark})
	}
	a.Emit("bundle", app.Fields{"bundle": x})
	a.Print(text("bundle", struct {
		*bundle.Examination
		Table string
	}{x, t.Render()}))
	if !v.Page {
		return nil
	}
	sides := []replaypage.Match{{Name: "here: the " + string(b.By), Record: b.Here}}
	if b.There != nil {
		sides = append(sides, replaypage.Match{Name: "there: " + b.Peer, Record: b.There})
	}
	return v.browse(a, sides...)
}

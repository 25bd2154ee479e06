package replay

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

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
	a.Emit("bundle", app.Fields{"bundle": x})
	a.Print(examinationText(x))
	if v.Export != "" {
		return v.Replay(a, replaypage.File{Name: filepath.Base(v.File), Data: data})
	}
	if !v.Page {
		return nil
	}
	open, err := replaypage.Bundle(b)
	if err != nil {
		return refusal(v.File, err)
	}
	return v.serve(a, open)
}

// examinationText describes a bundle for people.
func examinationText(x *bundle.Examination) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s · desync of %s in tick %d, written by the %s\n", x.Game, x.Peer, x.Tick, x.By)
	for _, s := range x.Settings {
		fmt.Fprintf(&b, "%s: %s\n", s.Name, s.Value)
	}
	for _, d := range x.Differences {
		fmt.Fprintf(&b, "%s\n", d.Sentence)
	}
	if x.Claimed > 0 {
		fmt.Fprintf(&b, "tick %d: the other side's checksum is %s", x.Claimed, x.Claim)
		if x.Own != "" {
			fmt.Fprintf(&b, ", this one's %s", x.Own)
		}
		b.WriteByte('\n')
	}
	t := app.NewTable("", "column", "here", "there", "")
	for _, c := range x.Columns {
		mark := ""
		if c.There != "" && c.There != c.Here {
			mark = "differs"
		}
		t.Append(c.Name, c.Here, c.There, mark)
	}
	b.WriteString(t.Text(true))
	if x.Played == bundle.NotPlayed {
		b.WriteString("there is no earlier state to begin from\n")
	} else {
		fmt.Fprintf(&b, "simulated from tick %d with this build, the match comes to %s\n", x.First, map[bundle.Played]string{
			bundle.LeadsHere:  "the state here",
			bundle.LeadsThere: "the state there: this side did not follow the rules, or had other inputs",
			bundle.Elsewhere:  "neither state",
		}[x.Played])
	}
	if x.First < x.Tick {
		fmt.Fprintf(&b, "--at shows the ticks %d to %d\n", x.First, x.Tick)
	}
	return b.String()
}

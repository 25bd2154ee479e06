package cli

import (
	"errors"
	"fmt"
	"strings"

	"tendon/cmd/cli/travelpage"
	"tendon/ecs"
	"tendon/rollback/bundle"
	"tendon/rollback/recording"
)

// places is how many differences are named.
const places = 8

// openBundle shows a desync bundle: what differs, or a tick of those that led there.
func (v *replayVerb) openBundle(a *app, data []byte) error {
	if v.Other != "" || v.Verify || v.Dump || v.To > 0 && v.Field == "" {
		return errors.New("a desync bundle is shown as it is, or with --at, --entity and --field: leave the other flags out")
	}
	b, err := bundle.Open(data)
	if errors.Is(err, bundle.ErrVersion) {
		return fmt.Errorf("%s cannot be opened: %w; open it with the build that wrote it", v.File, err)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be opened: %w; take another copy", v.File, err)
	}
	if v.At != nil || v.Field != "" {
		t, err := a.traveller(b.Here)
		if err != nil {
			return refusal(v.File, err)
		}
		if v.Field != "" {
			return v.seriesOf(a, t)
		}
		return v.showAt(a, t, ecs.Tick(*v.At))
	}
	x, err := b.Examine(a.game, places)
	if errors.Is(err, recording.ErrOtherGame) || errors.Is(err, recording.ErrOtherBuild) {
		return refusal(v.File, err)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be opened: %w; take another copy", v.File, err)
	}
	a.emit("bundle", fields{"bundle": x})
	a.tell(examinationText(x))
	if !v.Page {
		return nil
	}
	sides := []travelpage.Match{{Name: "here: the " + string(b.By), Source: b.Here}}
	if b.There != nil {
		sides = append(sides, travelpage.Match{Name: "there: " + b.Peer, Source: b.There})
	}
	return v.browse(a, sides...)
}

// examinationText writes what a bundle tells for people.
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
	t := newTable("")
	t.AppendHeader([]any{"column", "here", "there", ""})
	for _, c := range x.Columns {
		mark := ""
		if c.There != "" && c.There != c.Here {
			mark = "differs"
		}
		t.AppendRow([]any{c.Name, c.Here, c.There, mark})
	}
	b.WriteString(t.Render() + "\n")
	fmt.Fprintf(&b, "%s\n", map[bundle.Played]string{
		bundle.LeadsHere:  fmt.Sprintf("played from tick %d with this build, the match comes to the state here", x.First),
		bundle.LeadsThere: fmt.Sprintf("played from tick %d with this build, the match comes to the state there: this side did not follow the rules, or had other inputs", x.First),
		bundle.Elsewhere:  fmt.Sprintf("played from tick %d with this build, the match comes to neither state", x.First),
		bundle.NotPlayed:  "there is no earlier state to play from",
	}[x.Played])
	if x.First < x.Tick {
		fmt.Fprintf(&b, "--at shows the ticks %d to %d\n", x.First, x.Tick)
	}
	return b.String()
}

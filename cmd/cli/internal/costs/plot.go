package costs

import (
	"cmp"
	"path/filepath"
	"slices"

	"tendon/cmd/cli/internal/plots"
	"tendon/net/cost"
)

const (
	costWidth  = 620 // points
	linesDrawn = 6
)

// Plot writes two plots for each side, as PNG and SVG. One has the costs of phases and systems, with resimulation as a part of
// each. The other has the most expensive rows over time.
func Plot(f *File, dir string) error {
	for _, r := range f.Reports() {
		parts := []plots.Series{{Name: "engine", Colour: 6}, {Name: "system"}, {Name: "system, resimulated", Colour: 1}}
		var names []string
		grouped := groups(r)
		slices.Reverse(grouped) // the most expensive on top
		for _, g := range grouped {
			names = append(names, g.name)
			for i := range parts {
				parts[i].Values = append(parts[i].Values, float64(g.self[i])/1e3/float64(max(r.Turns, 1)))
			}
		}
		rows := slices.Clone(r.Rows)
		slices.SortStableFunc(rows, func(a, b cost.Row) int { return cmp.Compare(b.Self, a.Self) })
		var lines []plots.Series
		step := 0.0
		for i, row := range rows[:min(linesDrawn, len(rows))] {
			lines = append(lines, plots.Series{Name: row.Label(), Colour: i})
			step = f.Load.Seconds / float64(max(len(row.Slices), 1))
			for _, ns := range row.Slices {
				lines[i].Values = append(lines[i].Values, ns/1e3)
			}
		}
		bars := plots.Plot{Path: filepath.Join(dir, r.Name), Width: costWidth, Height: 110 + 16*float64(len(names)),
			Title: r.Name + ": costs of a turn", X: "µs per turn, without nested sections"}
		over := plots.Plot{Path: filepath.Join(dir, r.Name+"-time"), Width: costWidth, Height: 300,
			Title: r.Name + ": most expensive over time", X: "s", Y: "µs per turn"}
		if err := cmp.Or(bars.Bars(names, parts, true), over.Lines(step/2, step, lines)); err != nil {
			return err
		}
	}
	return nil
}

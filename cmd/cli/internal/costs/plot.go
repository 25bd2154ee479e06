package costs

import (
	"cmp"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"tendon/cmd/cli/internal/plots"
	"tendon/net/cost"
)

// Plot writes two plots for each side, as PNG and SVG: the costs of phases and systems, and the costs over time.
func Plot(f *File, dir string) error {
	for _, r := range []*cost.Report{&f.Server, &f.Client} {
		p, bars, err := costBars(r)
		if err != nil {
			return err
		}
		if err := plots.Save(p, costWidth, vg.Points(110+16*float64(bars)), filepath.Join(dir, r.Name)); err != nil {
			return err
		}
		if p, err = costLines(r, f.Load.Seconds); err != nil {
			return err
		}
		if err := plots.Save(p, costWidth, vg.Points(300), filepath.Join(dir, r.Name+"-time")); err != nil {
			return err
		}
	}
	return nil
}

const costWidth = vg.Length(620)

var barKinds = [3]struct {
	name   string
	colour int // of plots.Colours
}{{"engine", 6}, {"system", 0}, {"system, resimulated", 1}}

// costBars draws a bar for each phase and each system, the most expensive on top. Resimulation is a part of the bar.
func costBars(r *cost.Report) (p *plot.Plot, bars int, err error) {
	type bar struct {
		name string
		us   [len(barKinds)]float64 // per turn
	}
	var list []bar
	for i := range r.Rows {
		row, kind := &r.Rows[i], 0
		name := row.Phase
		if row.System != "" {
			name, kind = row.System, 1
			if row.Phase == cost.PhaseAgain {
				kind = 2
			}
		}
		at := slices.IndexFunc(list, func(b bar) bool { return b.name == name && kind > 0 && b.us[0] == 0 })
		if at < 0 {
			at, list = len(list), append(list, bar{name: name})
		}
		list[at].us[kind] = float64(row.Self) / 1e3 / float64(max(r.Turns, 1))
	}
	sum := func(b bar) float64 { return b.us[0] + b.us[1] + b.us[2] }
	slices.SortStableFunc(list, func(a, b bar) int { return cmp.Compare(sum(a), sum(b)) })
	p = plots.New()
	p.Legend.Top = false
	p.Title.Text, p.X.Label.Text = r.Name+": costs of a turn", "µs per turn, without nested sections"
	var names []string
	for _, b := range list {
		names = append(names, b.name)
	}
	var below *plotter.BarChart
	for kind, k := range barKinds {
		var values plotter.Values
		for _, b := range list {
			values = append(values, b.us[kind])
		}
		chart, err := plotter.NewBarChart(values, vg.Points(10))
		if err != nil {
			return nil, 0, err
		}
		chart.Horizontal, chart.Color, chart.LineStyle.Width = true, plots.Colours[k.colour], 0
		if below != nil {
			chart.StackOn(below)
		}
		below = chart
		p.Add(chart)
		p.Legend.Add(k.name, chart)
	}
	p.NominalY(names...)
	return p, len(list), nil
}

const linesDrawn = 6

// costLines draws the most expensive rows over time.
func costLines(r *cost.Report, seconds float64) (*plot.Plot, error) {
	rows := slices.Clone(r.Rows)
	slices.SortStableFunc(rows, func(a, b cost.Row) int { return cmp.Compare(b.Self, a.Self) })
	p := plots.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = r.Name+": most expensive over time", "s", "µs per turn"
	for i, row := range rows[:min(linesDrawn, len(rows))] {
		if len(row.Slices) == 0 {
			continue
		}
		points := make(plotter.XYs, len(row.Slices))
		for n, ns := range row.Slices {
			points[n] = plotter.XY{X: (float64(n) + 0.5) * seconds / float64(len(row.Slices)), Y: ns / 1e3}
		}
		if err := plots.AddLine(p, i, row.Label(), points); err != nil {
			return nil, err
		}
	}
	plots.LeaveRoom(p)
	return p, nil
}

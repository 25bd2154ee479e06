package lab

import (
	"fmt"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"tendon/cmd/cli/internal/plots"
	"tendon/net/lab"
)

// labBars are the plots with a group of bars per profile, and in it one per strategy.
var labBars = []struct {
	file, title, unit string
	value             func(*lab.Result) float64
}{
	{"display", "input to display, median", "ms", func(r *lab.Result) float64 { return r.Display.P50 }},
	{"confirm", "input to confirm, median", "ms", func(r *lab.Result) float64 { return r.Confirm.P50 }},
	{"age", "age of the others, median", "ms", func(r *lab.Result) float64 { return r.Remote.P50 }},
	{"error", "how far the others are from where they are, root mean square", "world units", func(r *lab.Result) float64 { return r.Absolute.RMS }},
	{"jump", "largest jump in the picture", "world units", func(r *lab.Result) float64 { return r.Jumps.Max }},
	{"corrections", "corrections of a client", "a minute", func(r *lab.Result) float64 { return r.Corrections.PerMinute }},
	{"stall", "ticks that could not be computed", "%", func(r *lab.Result) float64 { return r.Stall.Percent }},
	{"down", "to a client, on the wire, estimated", "kbit/s", func(r *lab.Result) float64 { return r.Down.Wire }},
	{"up", "from a client, on the wire, estimated", "kbit/s", func(r *lab.Result) float64 { return r.Up.Wire }},
	{"server", "server, real time", "µs a tick", func(r *lab.Result) float64 { return r.ServerTick / 1e3 }},
	{"client", "client, real time", "µs a frame", func(r *lab.Result) float64 { return r.ClientFrame / 1e3 }},
}

// labLines are the plots with a line per strategy over time, one for each profile.
var labLines = []struct {
	file, title, unit string
	value             func(*lab.Second) float64
}{
	{"own", "own age", "ms", func(s *lab.Second) float64 { return s.Own }},
	{"off", "mean distance of the others from where they are", "world units", func(s *lab.Second) float64 { return s.Error }},
}

// plotLab writes all plots into a directory, each as PNG and as SVG.
func plotLab(r *lab.Report, dir string) error {
	strategies, nets, results := axes(r)
	if len(nets) == 0 {
		return nil
	}
	for _, b := range labBars {
		p, err := barPlot(results, strategies, nets, b.value)
		if err != nil {
			return err
		}
		p.Title.Text, p.Y.Label.Text = b.title, b.unit
		if err := save(p, len(nets), filepath.Join(dir, b.file)); err != nil {
			return err
		}
	}
	for _, l := range labLines {
		for _, net := range nets {
			p, err := linePlot(results, strategies, net, l.value)
			if err != nil {
				return err
			}
			p.Title.Text, p.Y.Label.Text, p.X.Label.Text = l.title+", "+net, l.unit, "s"
			if err := save(p, 4, filepath.Join(dir, fmt.Sprintf("%s-%s", l.file, net))); err != nil {
				return err
			}
		}
	}
	return nil
}

// axes returns the strategies and profiles that were measured, in their order, and the results by both.
func axes(r *lab.Report) (strategies, nets []string, results map[[2]string]*lab.Result) {
	results = map[[2]string]*lab.Result{}
	for i := range r.Results {
		x := &r.Results[i]
		if x.Failed != "" {
			continue
		}
		results[[2]string{x.Strategy, x.Profile}] = x
		if !slices.Contains(strategies, x.Strategy) {
			strategies = append(strategies, x.Strategy)
		}
		if !slices.Contains(nets, x.Profile) {
			nets = append(nets, x.Profile)
		}
	}
	return strategies, nets, results
}

func barPlot(results map[[2]string]*lab.Result, strategies, nets []string, value func(*lab.Result) float64) (*plot.Plot, error) {
	p := plots.New()
	width := vg.Points(44 / float64(max(len(strategies), 1)))
	for i, s := range strategies {
		values := make(plotter.Values, len(nets))
		for n, net := range nets {
			if x := results[[2]string{s, net}]; x != nil {
				values[n] = value(x)
			}
		}
		bars, err := plotter.NewBarChart(values, width)
		if err != nil {
			return nil, err
		}
		bars.Color, bars.LineStyle.Width = plots.Colours[i%len(plots.Colours)], 0
		bars.Offset = width * vg.Length(float64(i)-float64(len(strategies)-1)/2)
		p.Add(bars)
		p.Legend.Add(s, bars)
	}
	p.NominalX(nets...)
	p.X.Min, p.X.Max = -0.5, float64(len(nets))-0.5
	plots.LeaveRoom(p)
	return p, nil
}

func linePlot(results map[[2]string]*lab.Result, strategies []string, net string, value func(*lab.Second) float64) (*plot.Plot, error) {
	p := plots.New()
	for i, s := range strategies {
		x := results[[2]string{s, net}]
		if x == nil || len(x.Timeline) == 0 {
			continue
		}
		points := make(plotter.XYs, len(x.Timeline))
		for n := range points {
			points[n] = plotter.XY{X: float64(n), Y: value(&x.Timeline[n])}
		}
		if err := plots.AddLine(p, i, s, points); err != nil {
			return nil, err
		}
	}
	plots.LeaveRoom(p)
	return p, nil
}

// save writes a plot that is wide enough for so many groups.
func save(p *plot.Plot, groups int, path string) error {
	return plots.Save(p, vg.Points(160+64*float64(max(groups, 3))), vg.Points(260), path)
}

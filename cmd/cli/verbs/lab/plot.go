package lab

import (
	"cmp"
	"path/filepath"
	"slices"

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
	{"down", "to a client, on the wire", "kbit/s", func(r *lab.Result) float64 { return r.Down.Wire }},
	{"up", "from a client, on the wire", "kbit/s", func(r *lab.Result) float64 { return r.Up.Wire }},
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
	var strategies, nets []string // that were measured, in their order
	results := map[[2]string]*lab.Result{}
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
	// series returns the values of each strategy on some profiles, or the zero Result's where it was not measured.
	series := func(on []string, values func(*lab.Result) []float64) (list []plots.Series) {
		for i, s := range strategies {
			list = append(list, plots.Series{Name: s, Colour: i})
			for _, net := range on {
				list[i].Values = append(list[i].Values, values(cmp.Or(results[[2]string{s, net}], &lab.Result{}))...)
			}
		}
		return list
	}
	// Plots are wide enough for so many groups.
	at := func(file string, groups int) plots.Plot {
		return plots.Plot{Path: filepath.Join(dir, file), Width: 160 + 64*float64(max(groups, 3)), Height: 260}
	}
	for _, b := range labBars[:len(labBars)*min(len(nets), 1)] {
		p := at(b.file, len(nets))
		p.Title, p.Y = b.title, b.unit
		if err := p.Bars(nets, series(nets, func(r *lab.Result) []float64 { return []float64{b.value(r)} }), false); err != nil {
			return err
		}
	}
	for _, l := range labLines {
		for _, net := range nets {
			p := at(l.file+"-"+net, 4)
			p.Title, p.X, p.Y = l.title+", "+net, "s", l.unit
			err := p.Lines(0, 1, series([]string{net}, func(r *lab.Result) (values []float64) {
				for i := range r.Timeline {
					values = append(values, l.value(&r.Timeline[i]))
				}
				return values
			}))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

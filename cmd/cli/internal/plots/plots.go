// Package plots draws plots in one style and writes them as PNG and SVG.
package plots

import (
	"bytes"
	"image/color"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// colours are those that people with colour blindness can distinguish (Okabe and Ito).
var colours = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{230, 159, 0, 255}, color.RGBA{0, 158, 115, 255}, color.RGBA{204, 121, 167, 255},
	color.RGBA{86, 180, 233, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{90, 90, 90, 255},
}

// Series are the values of one line, or of one colour of bars.
type Series struct {
	Name   string
	Colour int // of colours, which repeat
	Values []float64
}

// newPlot returns an empty plot in the style of all plots.
func newPlot(title string) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.Legend.Top = true
	p.Legend.Padding = vg.Points(2)
	p.Title.Padding = vg.Points(6)
	p.Add(plotter.NewGrid())
	return p
}

// Lines returns a plot of values at the moments first, first + step and so on. Empty series are left out.
func Lines(title, x, y string, first, step float64, series []Series) (*plot.Plot, error) {
	p := newPlot(title)
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, s := range series {
		if len(s.Values) == 0 {
			continue
		}
		points := make(plotter.XYs, len(s.Values))
		for i, v := range s.Values {
			points[i] = plotter.XY{X: first + step*float64(i), Y: v}
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = colours[s.Colour%len(colours)], vg.Points(1.5)
		p.Add(line)
		p.Legend.Add(s.Name, line)
	}
	leaveRoom(p)
	return p, nil
}

// Bars returns a plot with the values of all series for each of the names: side by side, or stacked in one horizontal bar, the
// first name at the bottom.
func Bars(title, unit string, names []string, series []Series, stacked bool) (*plot.Plot, error) {
	p, width, below := newPlot(title), vg.Points(44/float64(max(len(series), 1))), (*plotter.BarChart)(nil)
	if stacked {
		width = vg.Points(10)
	}
	for i, s := range series {
		bars, err := plotter.NewBarChart(plotter.Values(s.Values), width)
		if err != nil {
			return nil, err
		}
		bars.Color, bars.LineStyle.Width, bars.Horizontal = colours[s.Colour%len(colours)], 0, stacked
		switch {
		case !stacked:
			bars.Offset = width * vg.Length(float64(i)-float64(len(series)-1)/2)
		case below != nil:
			bars.StackOn(below)
		}
		below = bars
		p.Add(bars)
		p.Legend.Add(s.Name, bars)
	}
	if stacked {
		p.X.Label.Text, p.Legend.Top = unit, false
		p.NominalY(names...)
		return p, nil
	}
	p.Y.Label.Text = unit
	p.NominalX(names...)
	p.X.Min, p.X.Max = -0.5, float64(len(names))-0.5
	leaveRoom(p)
	return p, nil
}

// leaveRoom puts the legend above the plotted values.
func leaveRoom(p *plot.Plot) {
	p.Y.Min = min(p.Y.Min, 0)
	p.Y.Max = max(p.Y.Max, tinyPlot)
	p.Y.Max += (p.Y.Max - p.Y.Min) * 0.35
}

const tinyPlot = 1e-3 // least height of a plot, so that zeros lie at its foot

const plotMargin = vg.Length(8) // left free around a plot: names of bars reach further than their axis

// Save writes a plot as PNG and as SVG.
func Save(p *plot.Plot, width, height vg.Length, path string) error {
	for _, kind := range []string{"png", "svg"} {
		canvas, err := draw.NewFormattedCanvas(width, height, kind)
		if err != nil {
			return err
		}
		area := draw.New(canvas)
		area.SetColor(color.White)
		area.Fill(area.Rectangle.Path())
		p.Draw(draw.Crop(area, plotMargin, -plotMargin, plotMargin, -plotMargin))
		var file bytes.Buffer
		if _, err := canvas.WriteTo(&file); err != nil {
			return err
		}
		if err := os.WriteFile(path+"."+kind, file.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

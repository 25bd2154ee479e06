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

// Plot is a plot that Lines or Bars draws and writes as PNG and as SVG.
type Plot struct {
	Path          string  // without the suffix
	Width, Height float64 // in points
	Title, X, Y   string
}

// start returns an empty plot in the style of all plots.
func (s Plot) start() *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = s.Title, s.X, s.Y
	p.Legend.Top = true
	p.Legend.Padding = vg.Points(2)
	p.Title.Padding = vg.Points(6)
	p.Add(plotter.NewGrid())
	return p
}

// Lines draws values at the moments first, first + step and so on. Empty series are left out.
func (s Plot) Lines(first, step float64, series []Series) error {
	p := s.start()
	for _, x := range series {
		if len(x.Values) == 0 {
			continue
		}
		points := make(plotter.XYs, len(x.Values))
		for i, v := range x.Values {
			points[i] = plotter.XY{X: first + step*float64(i), Y: v}
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		line.Color, line.Width = colours[x.Colour%len(colours)], vg.Points(1.5)
		p.Add(line)
		p.Legend.Add(x.Name, line)
	}
	leaveRoom(p)
	return s.save(p)
}

// Bars draws the values of all series for each of the names: side by side, or stacked in one horizontal bar. The first name is
// then at the bottom.
func (s Plot) Bars(names []string, series []Series, stacked bool) error {
	p, width, below := s.start(), vg.Points(44/float64(max(len(series), 1))), (*plotter.BarChart)(nil)
	if stacked {
		width = vg.Points(10)
	}
	for i, x := range series {
		bars, err := plotter.NewBarChart(plotter.Values(x.Values), width)
		if err != nil {
			return err
		}
		bars.Color, bars.LineStyle.Width, bars.Horizontal = colours[x.Colour%len(colours)], 0, stacked
		switch {
		case !stacked:
			bars.Offset = width * vg.Length(float64(i)-float64(len(series)-1)/2)
		case below != nil:
			bars.StackOn(below)
		}
		below = bars
		p.Add(bars)
		p.Legend.Add(x.Name, bars)
	}
	if stacked {
		p.Legend.Top = false
		p.NominalY(names...)
		return s.save(p)
	}
	p.NominalX(names...)
	p.X.Min, p.X.Max = -0.5, float64(len(names))-0.5
	leaveRoom(p)
	return s.save(p)
}

// leaveRoom puts the legend above the plotted values.
func leaveRoom(p *plot.Plot) {
	p.Y.Min = min(p.Y.Min, 0)
	p.Y.Max = max(p.Y.Max, tinyPlot)
	p.Y.Max += (p.Y.Max - p.Y.Min) * 0.35
}

const tinyPlot = 1e-3 // least height of a plot, so that zeros lie at its foot

const plotMargin = vg.Length(8) // left free around a plot: names of bars reach further than their axis

func (s Plot) save(p *plot.Plot) error {
	for _, kind := range []string{"png", "svg"} {
		canvas, err := draw.NewFormattedCanvas(vg.Points(s.Width), vg.Points(s.Height), kind)
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
		if err := os.WriteFile(s.Path+"."+kind, file.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

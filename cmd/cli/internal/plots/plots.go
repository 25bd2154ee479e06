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

// Colours are colours that people with colour blindness can distinguish (Okabe and Ito).
var Colours = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{230, 159, 0, 255}, color.RGBA{0, 158, 115, 255}, color.RGBA{204, 121, 167, 255},
	color.RGBA{86, 180, 233, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{90, 90, 90, 255},
}

// New returns an empty plot in the style of all plots.
func New() *plot.Plot {
	p := plot.New()
	p.Legend.Top = true
	p.Legend.Padding = vg.Points(2)
	p.Title.Padding = vg.Points(6)
	p.Add(plotter.NewGrid())
	return p
}

// AddLine draws the i-th line of a plot, with its name in the legend.
func AddLine(p *plot.Plot, i int, name string, points plotter.XYs) error {
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.Color, line.Width = Colours[i%len(Colours)], vg.Points(1.5)
	p.Add(line)
	p.Legend.Add(name, line)
	return nil
}

// LeaveRoom puts the legend above what is drawn.
func LeaveRoom(p *plot.Plot) {
	p.Y.Min = min(p.Y.Min, 0)
	p.Y.Max = max(p.Y.Max, tinyPlot)
	p.Y.Max += (p.Y.Max - p.Y.Min) * 0.35
}

// tinyPlot is the least height of a plot, so that zeros lie at its foot.
const tinyPlot = 1e-3

// plotMargin is left free around a plot: names of bars reach further than their axis.
const plotMargin = vg.Length(8)

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

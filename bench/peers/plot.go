package main

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// drawing is a bar chart: a group of bars per figure, a bar per engine.
type drawing struct {
	file  string
	title string
	table string // after which it is shown
	bars  []bar
}

// bar is a figure in a drawing.
type bar struct{ table, figure, label string }

var plotted = []drawing{
	{"loads", "Loads, million cells/s", "random", []bar{
		{"ordered", "rate", "in key order"}, {"random", "rate", "in random order"},
	}},
	{"commits", "Durable batches of ten cells, millions/s", "commits", []bar{
		{"commits", "rate1", "1 writer"}, {"commits", "rate8", "8 writers"}, {"commits", "rate64", "64 writers"},
	}},
	{"scans", "Full scans, million cells/s", "reads", []bar{
		{"reads", "scan-first", "first"}, {"reads", "scan-warm", "warm"},
	}},
	{"rows", "Row reads, millions/s", "reads", []bar{
		{"reads", "rows1", "cached, 1"}, {"reads", "rows4", "cached, 4"}, {"reads", "small1", "small cache, 1"},
		{"reads", "absent1", "absent, 1"}, {"reads", "absent4", "absent, 4"},
	}},
	{"history", "Row reads of tables that have lived, millions/s", "history", []bar{
		{"history", "clean-rows", "clean"}, {"history", "versions-rows", "ten versions"},
		{"history", "overwritten-rows", "overwritten"}, {"history", "hot-rows", "hot"}, {"history", "deleted-rows", "deleted"},
	}},
}

// colours tell engines apart, in the order of engines, also for colour-blind readers.
var colours = []color.Color{
	color.RGBA{R: 0xd5, G: 0x5e, A: 0xff},
	color.RGBA{G: 0x72, B: 0xb2, A: 0xff},
	color.RGBA{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff},
	color.RGBA{G: 0x9e, B: 0x73, A: 0xff},
	color.RGBA{R: 0xe6, G: 0x9f, A: 0xff},
	color.RGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff},
	color.RGBA{R: 0x99, G: 0x99, B: 0x99, A: 0xff},
}

// plots draws the results into files of a directory.
func (r *report) plots(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, d := range plotted {
		if r.results[d.table] == nil {
			continue
		}
		p, err := r.draw(d)
		if err != nil {
			return fmt.Errorf("plot %s: %w", d.file, err)
		}
		if err := p.Save(7*vg.Inch, 3*vg.Inch, filepath.Join(dir, d.file+".svg")); err != nil {
			return err
		}
	}
	return nil
}

func (r *report) draw(d drawing) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = d.title
	p.Y.Min = 0
	p.Legend.Top = true
	p.Add(plotter.NewGrid())
	labels := make([]string, len(d.bars))
	for i, b := range d.bars {
		labels[i] = b.label
	}
	p.NominalX(labels...)
	width := vg.Points(340 / float64(len(d.bars)*(len(r.o.engines)+1)))
	highest := 0.0
	for i, e := range r.o.engines {
		values, any := make(plotter.Values, len(d.bars)), false
		for k, b := range d.bars {
			x, _, ok := r.results.median(b.table, e.Name, b.figure)
			values[k], any = x/1e6, any || ok
			highest = math.Max(highest, values[k])
		}
		if !any {
			continue
		}
		bars, err := plotter.NewBarChart(values, width)
		if err != nil {
			return nil, err
		}
		bars.Color, bars.LineStyle.Width = colourOf(e), 0
		bars.Offset = width * vg.Length(float64(i)-float64(len(r.o.engines)-1)/2)
		p.Add(bars)
		p.Legend.Add(e.Name, bars)
	}
	// Each group has room for its bars and, beside them, the names of the engines.
	groups := float64(len(d.bars))
	p.X.Min, p.X.Max = -0.5, groups-0.5+groups/3
	p.Y.Max = highest * 1.05
	return p, nil
}

func colourOf(e *Engine) color.Color {
	for i := range engines {
		if engines[i] == e {
			return colours[i]
		}
	}
	return color.Black
}

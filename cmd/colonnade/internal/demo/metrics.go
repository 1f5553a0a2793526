package demo

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/colonnade-db/colonnade/client"
)

// The made-up metrics are those of a day: three series of four hosts, a sample each minute. They are the same each time.
var (
	series = []struct {
		name           string
		low, high, day float64 // day is how much of it follows the time of day
	}{{"cpu", 5, 95, 40}, {"disk", 20, 80, 5}, {"requests", 0, 900, 500}}
	hosts = []string{"web1", "web2", "web3", "db1"}
	day   = time.Date(2026, 9, 18, 0, 0, 0, 0, time.UTC)
)

const (
	metricsTable = "metrics"
	flatTable    = "metrics_flat" // the same rows, without a locality group
)

// loadMetrics makes both tables of metrics.
func loadMetrics(ctx context.Context, c *client.Client) error {
	rows := metricRows()
	for _, name := range []string{metricsTable, flatTable} {
		spec := client.TableSpec{Families: []client.Family{{Name: "minute"}, {Name: "hour"}}}
		if name == metricsTable {
			spec.Groups = [][]string{{"hour"}}
		}
		table := c.Table(name)
		if err := table.Create(ctx, spec); err != nil {
			return err
		}
		if err := table.Write(ctx, rows...); err != nil {
			return err
		}
	}
	return nil
}

// metricRows returns a row for each series, host and hour, keyed SERIES#HOST#HOUR: its samples in the family minute, a
// column each, and what a chart of a day needs in the family hour.
func metricRows() (rows []client.Row) {
	random := rand.New(rand.NewPCG(2026, 918))
	for _, s := range series {
		for _, host := range hosts {
			value := (s.low + s.high) / 2
			for hour := range 24 {
				at := day.Add(time.Duration(hour) * time.Hour)
				row := client.Row{Key: fmt.Sprintf("%s#%s#%s", s.name, host, at.Format("2006-01-02T15"))}
				least, most, sum := math.Inf(1), math.Inf(-1), 0.0
				for minute := range 60 {
					busy := s.day * math.Sin(math.Pi*(float64(hour)+float64(minute)/60-4)/24)
					value += (random.Float64()-0.5)*(s.high-s.low)/10 + ((s.low+s.high)/2+busy/4-value)/8
					v := math.Round(min(max(value, s.low), s.high)*10) / 10
					least, most, sum = min(least, v), max(most, v), sum+v
					row.Cells = append(row.Cells, sample("minute", fmt.Sprintf("%02d", minute), v, at.Add(time.Duration(minute)*time.Minute)))
				}
				for name, v := range map[string]float64{"min": least, "max": most, "avg": math.Round(sum/6) / 10} {
					row.Cells = append(row.Cells, sample("hour", name, v, at))
				}
				rows = append(rows, row)
			}
		}
	}
	return rows
}

func sample(family, qualifier string, v float64, at time.Time) client.Cell {
	return client.Cell{Family: family, Qualifier: qualifier, Value: client.F64(v), Time: client.At(at.UnixMicro())}
}

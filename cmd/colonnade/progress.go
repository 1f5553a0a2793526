package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/load"
)

// display shows the progress of an import or export: a bar on a terminal, otherwise a line every few seconds.
type display struct {
	w     io.Writer
	bar   *progressbar.ProgressBar // nil without a terminal
	begin time.Time
	close func()

	mu       sync.Mutex // guards what follows, and the order of the events of a load and of its source
	last     time.Time  // of the last line, without a bar
	badShown int
}

const (
	lineEvery = 5 * time.Second
	// maxBadShown bounds how many bad lines are shown. All are counted.
	maxBadShown = 20
)

// newDisplay shows the progress of doing something on w, of size bytes or -1.
func newDisplay(w io.Writer, doing string, size int64, begin time.Time) *display {
	d := &display{w: w, begin: begin, last: begin, close: func() {}}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		d.bar = progressbar.NewOptions64(size,
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetDescription(doing),
			progressbar.OptionShowBytes(true),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionFullWidth(),
			progressbar.OptionClearOnFinish(),
		)
		d.close = sync.OnceFunc(func() { d.bar.Clear(); d.bar.Close() })
	}
	return d
}

func (d *display) events() load.Events {
	return load.Events{Progress: d.progress, Bad: d.bad, Retry: d.retry}
}

// total sets of how many bytes the progress is, -1 if that is not known.
func (d *display) total(bytes int64) {
	if d.bar != nil {
		d.bar.ChangeMax64(bytes)
	}
}

func (d *display) progress(p load.Progress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bar != nil {
		d.bar.Describe(fmt.Sprintf("%s rows", thousands(p.Rows)))
		d.bar.Set64(p.Input)
		return
	}
	if now := time.Now(); now.Sub(d.last) >= lineEvery {
		d.last = now
		d.line(summary(p, now.Sub(d.begin)))
	}
}

// bytes shows how many bytes of how many are done.
func (d *display) bytes(done, total int64) {
	if d.bar != nil {
		d.bar.ChangeMax64(total)
		d.bar.Set64(done)
		return
	}
	if now := time.Now(); now.Sub(d.last) >= lineEvery {
		d.last = now
		seconds := max(now.Sub(d.begin).Seconds(), 1e-6)
		d.line(fmt.Sprintf("%s of %s: %s/s", megabytes(float64(done)), megabytes(float64(total)), megabytes(float64(done)/seconds)))
	}
}

func (d *display) bad(e *load.LineError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.badShown++
	switch {
	case d.badShown <= maxBadShown:
		d.line("left out: " + e.Error())
	case d.badShown == maxBadShown+1:
		d.line("left out: more lines, which are counted but not shown")
	}
}

func (d *display) retry(wait time.Duration, cause error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.line(fmt.Sprintf("again in %v: %v", wait.Round(time.Millisecond), cause))
}

// line prints a line, also while there is a bar.
func (d *display) line(text string) {
	d.clear()
	fmt.Fprintln(d.w, text)
}

// clear makes room for other output.
func (d *display) clear() {
	if d.bar != nil {
		d.bar.Clear()
	}
}

// summary returns a line about what was written in which time.
func summary(p load.Progress, elapsed time.Duration) string {
	seconds := max(elapsed.Seconds(), 1e-6)
	text := fmt.Sprintf("%s rows, %s cells, %s in %.2f s: %s cells/s, %s/s",
		thousands(p.Rows), thousands(p.Cells), megabytes(float64(p.Bytes)), seconds,
		thousands(int64(float64(p.Cells)/seconds)), megabytes(float64(p.Bytes)/seconds))
	if p.Skipped > 0 {
		text += fmt.Sprintf("; %s bad lines left out", thousands(p.Skipped))
	}
	return text
}

func megabytes(n float64) string {
	if n < 1e6 {
		return fmt.Sprintf("%.1f kB", n/1e3)
	}
	return fmt.Sprintf("%.1f MB", n/1e6)
}

// thousands formats n with commas.
func thousands(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

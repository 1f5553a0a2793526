package top

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Options say what to draw.
type Options struct {
	Server string        // its name, for people
	Every  time.Duration // between two readings
	// Metrics returns the metrics of the server.
	Metrics func(context.Context) ([]byte, error)
}

// Once writes what a server does in one span.
func Once(ctx context.Context, w io.Writer, o Options) error {
	from, err := o.read(ctx)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(o.Every):
	}
	to, err := o.read(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, strings.Join(draw(span{from, to}, len(to.families)), "\n"))
	return err
}

func (o *Options) read(ctx context.Context) (*reading, error) {
	text, err := o.Metrics(ctx)
	if err != nil {
		return nil, err
	}
	return parse(text, time.Now())
}

// Watch draws what a server does on a terminal, until q is pressed.
func Watch(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	m, err := tea.NewProgram(screen{Options: o, ctx: ctx, height: 24}, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out)).Run()
	if s, ok := m.(screen); ok && s.latest == nil && s.err != nil {
		return s.err // nothing was ever drawn
	}
	return err
}

// screen is the state of Watch.
type screen struct {
	Options
	ctx           context.Context
	height, width int
	latest        *reading
	span          *span // nil until there are two readings
	err           error // of the last attempt
}

// What comes after a reading.
type (
	read struct {
		reading *reading
		err     error
	}
	again struct{}
)

// Init reads for the first time.
func (s screen) Init() tea.Cmd { return s.fetch }

func (s screen) fetch() tea.Msg {
	r, err := s.read(s.ctx)
	return read{r, err}
}

// Update takes a reading, a key or the size of the terminal.
func (s screen) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch m := message.(type) {
	case tea.KeyPressMsg:
		switch m.String() {
		case "q", "esc", "ctrl+c":
			return s, tea.Quit
		}
	case tea.WindowSizeMsg:
		s.width, s.height = m.Width, m.Height
	case again:
		return s, s.fetch
	case read:
		if s.err = m.err; m.err != nil && s.latest == nil {
			return s, tea.Quit
		}
		if m.err == nil {
			if s.latest != nil {
				s.span = &span{s.latest, m.reading}
			}
			s.latest = m.reading
		}
		wait := s.Every
		if s.span == nil {
			wait = min(wait, time.Second/2) // so that there is something to see soon
		}
		return s, tea.Tick(wait, func(time.Time) tea.Msg { return again{} })
	}
	return s, nil
}

// otherLines are those that draw returns beside the routes, and the head.
const otherLines = 14

// View draws the last span.
func (s screen) View() tea.View {
	lines := []string{fmt.Sprintf("Colonnade at %s, every %v. q quits", s.Server, s.Every), ""}
	if s.err != nil {
		lines[0] = fmt.Sprintf("no answer: %v", s.err)
	}
	if s.span == nil {
		lines = append(lines, "reading…")
	} else {
		lines = append(lines, draw(*s.span, s.height-otherLines)...)
	}
	for i, line := range lines {
		if r := []rune(line); s.width > 0 && len(r) > s.width {
			lines[i] = string(r[:s.width])
		}
	}
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen = true
	return v
}

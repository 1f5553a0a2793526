package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/format"
)

// rowLine is a line with one cell that has a time.
func rowLine(key string) string {
	return fmt.Sprintf(`{"row_key":%q,"cells":[{"column_key":"f:q","type":"string","value":"v","time":5}]}`, key)
}

func rowLines(n int) (lines []string) {
	for i := range n {
		lines = append(lines, rowLine(fmt.Sprintf("row%04d", i)))
	}
	return lines
}

// outcome is what a load did besides its answer.
type outcome struct {
	Progress
	err   error
	bad   []string
	waits []time.Duration
}

// loadLines runs a load against f. Time stands still but for the waits, which
// take no time.
func loadLines(t *testing.T, f *fake, text string, change func(*Options)) outcome {
	t.Helper()
	var out outcome
	o := Options{
		Server: Server{URL: f.url}, Table: "t", Name: "in", Parallel: 1, BatchCells: 1000, Time: 100, RetryFor: time.Minute,
		Events: Events{
			Bad:   func(e *LineError) { out.bad = append(out.bad, e.Error()) },
			Retry: func(wait time.Duration, _ error) { out.waits = append(out.waits, wait) },
		},
	}
	if change != nil {
		change(&o)
	}
	stream, err := format.NewStream(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	in := format.NewLines(stream)
	target, err := newTarget(&o)
	if err != nil {
		t.Fatal(err)
	}
	l := &loader{o: o, target: target, batches: make(chan *batch), free: make(chan *batch, o.Parallel+1)}
	now := time.Unix(0, 0)
	l.retrier = retrier{
		limit: o.RetryFor, notice: l.retrying,
		now:    func() time.Time { return now },
		sleep:  func(ctx context.Context, d time.Duration) error { now = now.Add(d); return ctx.Err() },
		jitter: func(d time.Duration) time.Duration { return d },
	}
	out.Progress, out.err = l.run(context.Background(), in)
	return out
}

func TestEveryLineArrivesOnce(t *testing.T) {
	f := newFake(t)
	lines := rowLines(2503)
	text := strings.Join(lines, "\n")
	got := loadLines(t, f, text, func(o *Options) { o.Parallel, o.BatchCells = 4, 100 })
	if got.err != nil {
		t.Fatal(got.err)
	}
	if f.writes != 26 {
		t.Errorf("%d requests, want 26", f.writes)
	}
	slices.Sort(f.taken)
	if !slices.Equal(f.taken, lines) {
		t.Errorf("%d lines have arrived, want %d, the same", len(f.taken), len(lines))
	}
	if want := (Progress{Rows: 2503, Cells: 2503, Bytes: int64(len(text)) + 1, Input: int64(len(text))}); got.Progress != want {
		t.Errorf("progress %+v, want %+v", got.Progress, want)
	}
}

func TestCompressedInput(t *testing.T) {
	text := strings.Join(rowLines(300), "\r\n") + "\n\n"
	var zipped, zstded bytes.Buffer
	for _, w := range []io.WriteCloser{gzip.NewWriter(&zipped), zstdWriter(t, &zstded)} {
		io.WriteString(w, text)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, input := range map[string]string{"plain": text, "gzip": zipped.String(), "zstd": zstded.String(), "two gzip members": zipped.String() + zipped.String()} {
		f := newFake(t)
		got := loadLines(t, f, input, nil)
		want := int64(300)
		if strings.HasPrefix(name, "two") {
			want = 600
		}
		if got.err != nil || got.Rows != want || got.Input != int64(len(input)) {
			t.Errorf("%s: %+v, want %d rows of %d bytes", name, got, want, len(input))
		}
	}
	f := newFake(t)
	got := loadLines(t, f, zipped.String()[:zipped.Len()-20], nil)
	if got.err == nil || !strings.Contains(got.err.Error(), "in: line ") {
		t.Errorf("cut gzip: error %v, want one that names the line", got.err)
	}
}

func zstdWriter(t *testing.T, w io.Writer) io.WriteCloser {
	z, err := zstd.NewWriter(w)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestLongLines(t *testing.T) {
	// More than the system takes from the client before the server reads.
	long := strings.Replace(rowLine("long"), `"v"`, `"`+strings.Repeat("v", 1<<20)+`"`, 1)
	tooLong := strings.Repeat("x", 64<<20+1)
	f := newFake(t)
	got := loadLines(t, f, long+"\n"+tooLong+"\n"+rowLine("next"), func(o *Options) { o.SkipBad = true })
	if got.err != nil || got.Rows != 2 || got.Skipped != 1 {
		t.Errorf("%+v, want 2 rows and 1 skipped", got)
	}
	if len(f.taken) != 2 || f.taken[0] != long {
		t.Errorf("the long line has changed")
	}
}

func TestRetries(t *testing.T) {
	status := func(codes ...int) func(http.ResponseWriter, int, []json.RawMessage) bool {
		return func(w http.ResponseWriter, n int, _ []json.RawMessage) bool {
			if n >= len(codes) {
				return false
			}
			if codes[n] == 0 {
				cut(w)
				return true
			}
			if codes[n] == 429 {
				w.Header().Set("Retry-After", "3")
			}
			reply(w, codes[n], "no", "x", "", nil)
			return true
		}
	}
	tests := []struct {
		codes []int
		waits []time.Duration
		fails string
	}{
		{[]int{503, 503, 503}, []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond}, ""},
		{[]int{504, 429, 0, 502}, []time.Duration{100 * time.Millisecond, 3 * time.Second, 400 * time.Millisecond, 800 * time.Millisecond}, ""},
		{[]int{507}, nil, "status 507"},
		{[]int{500}, nil, "status 500"},
		{[]int{404}, nil, "status 404"},
		{slices.Repeat([]int{503}, 50), nil, "given up after"},
	}
	for _, test := range tests {
		f := newFake(t)
		f.write = status(test.codes...)
		got := loadLines(t, f, rowLine("a"), nil)
		if test.fails != "" {
			if got.err == nil || !strings.Contains(got.err.Error(), test.fails) || got.Rows != 0 {
				t.Errorf("%v: %+v, want failure with %q", test.codes, got, test.fails)
			}
			continue
		}
		if got.err != nil || got.Rows != 1 || !slices.Equal(got.waits, test.waits) {
			t.Errorf("%v: %+v, want waits %v", test.codes, got, test.waits)
		}
	}
}

func TestReadOnlyServerIsNotWaitedFor(t *testing.T) {
	f := newFake(t)
	f.write = func(w http.ResponseWriter, _ int, _ []json.RawMessage) bool {
		reply(w, 503, "read-only until it is restarted", "read_only", "", nil)
		return true
	}
	if got := loadLines(t, f, rowLine("a"), nil); got.err == nil || len(got.waits) != 0 {
		t.Errorf("%+v, want a failure at once", got)
	}
}

func TestRetryGivesUpInTime(t *testing.T) {
	f := newFake(t)
	f.write = func(w http.ResponseWriter, _ int, _ []json.RawMessage) bool {
		reply(w, 503, "no", "x", "", nil)
		return true
	}
	got := loadLines(t, f, rowLine("a"), func(o *Options) { o.RetryFor = 20 * time.Second })
	var total time.Duration
	for _, w := range got.waits {
		total += w
	}
	if got.err == nil || total > 20*time.Second || total < 10*time.Second {
		t.Errorf("error %v after waits of %v in all, want a failure after 10 to 20 s", got.err, total)
	}
}

// A request that is sent again must write the very same versions.
func TestCellsWithoutTimeAreStampedOnce(t *testing.T) {
	f := newFake(t)
	f.write = func(w http.ResponseWriter, n int, _ []json.RawMessage) bool {
		if n == 0 {
			cut(w)
		}
		return n == 0
	}
	line := `{"row_key":"a","cells":[{"column_key":"f:","type":"string","value":"x"},{"column_key":"f:q","type":"i64","value":1,"time":9}]}`
	got := loadLines(t, f, line+"\n"+line, nil)
	if got.err != nil || len(f.bodies) != 2 || f.bodies[0] != f.bodies[1] {
		t.Fatalf("%+v: requests %q, want the same one twice", got, f.bodies)
	}
	for i, item := range f.taken {
		if want := strings.Replace(line, `"x"`, fmt.Sprintf(`"x","time":%d`, 101+i), 1); item != want {
			t.Errorf("line %d was sent as %s, want %s", i+1, item, want)
		}
	}
}

// refuse answers like a server that finds a row key unacceptable.
func refuse(word string, named bool) func(http.ResponseWriter, int, []json.RawMessage) bool {
	return func(w http.ResponseWriter, _ int, items []json.RawMessage) bool {
		for i, item := range items {
			if strings.Contains(string(item), word) {
				at := ""
				if named {
					at = fmt.Sprintf("items[%d].row_key", i)
				}
				reply(w, 400, "row key is "+word, "invalid_row_key", at, nil)
				return true
			}
		}
		return false
	}
}

func TestBadLineStops(t *testing.T) {
	good := rowLines(3)
	tests := []struct {
		name, bad string
		write     func(http.ResponseWriter, int, []json.RawMessage) bool
		want      string
	}{
		{"not an object", `"row"`, nil, "in:3: the line is not a JSON object"},
		{"cut", `{"row_key":"a`, nil, "in:3: the line is not JSON: unexpected end"},
		{"not JSON", `{"row_key":nul,"cells":[]}`, nil, "in:3: the line is not JSON: invalid character"},
		{"not UTF-8", "{\"row_key\":\"\xff\",\"x\":,\"cells\":[]}", nil, "in:3: the line is not UTF-8"},
		{"named by the server", rowLine("awful"), refuse("awful", true), "in:3: row_key: row key is awful (status 400)"},
		{"not named", rowLine("awful"), refuse("awful", false), "in:1: one of the lines up to 4: row key is awful"},
	}
	for _, test := range tests {
		f := newFake(t)
		f.write = test.write
		got := loadLines(t, f, strings.Join([]string{good[0], good[1], test.bad, good[2]}, "\n"), nil)
		var line *LineError
		if !errors.As(got.err, &line) || !strings.HasPrefix(got.err.Error(), test.want) {
			t.Errorf("%s: error %v, want %s", test.name, got.err, test.want)
		}
		if len(f.taken) != 0 || got.Rows != 0 {
			t.Errorf("%s: %d lines of the request were written", test.name, len(f.taken))
		}
	}
}

// goodThenBad has a row and then a bad one, of which read tells.
type goodThenBad struct {
	rows int64
	read chan struct{}
}

func (g *goodThenBad) Next() (format.Row, error) {
	if g.rows++; g.rows == 1 {
		return format.Row{Item: []byte(rowLine("good")), First: 1, Last: 1}, nil
	}
	close(g.read)
	return format.Row{}, &format.RowError{First: 2, Last: 2, Cause: errors.New("bad")}
}

func (g *goodThenBad) Field(string) string { return "" }
func (g *goodThenBad) Offset() int64       { return g.rows }

// TestBadLineTakesNothingBack: a request that is under way when a bad line is read ends as if it had not been.
func TestBadLineTakesNothingBack(t *testing.T) {
	f := newFake(t)
	in := &goodThenBad{read: make(chan struct{})}
	f.write = func(http.ResponseWriter, int, []json.RawMessage) bool { <-in.read; return false }
	got, err := Run(t.Context(), in, Options{Server: Server{URL: f.url}, Table: "t", Name: "in", Parallel: 1, BatchCells: 1})
	var line *LineError
	if !errors.As(err, &line) || got.Rows != 1 || len(f.taken) != 1 {
		t.Errorf("%d rows acknowledged, %d taken, %v", got.Rows, len(f.taken), err)
	}
}

// TestTextsOfOtherPrograms: a byte order mark at the beginning, line ends of Windows, blanks at
// the end of lines and lines of blanks change nothing, compressed or not.
func TestTextsOfOtherPrograms(t *testing.T) {
	lines := rowLines(3)
	text := "\ufeff" + lines[0] + "\r\n \t\r\n\n" + lines[1] + "  \r\n   \n" + lines[2] + " "
	for _, compressed := range []bool{false, true} {
		input := text
		if compressed {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			z.Write([]byte(text))
			z.Close()
			input = b.String()
		}
		f := newFake(t)
		got := loadLines(t, f, input, nil)
		if got.err != nil || got.Rows != 3 || len(f.taken) != 3 {
			t.Errorf("compressed %t: %v, %d rows, %d taken", compressed, got.err, got.Rows, len(f.taken))
		}
	}
	if got := loadLines(t, newFake(t), lines[0]+"\n\ufeff"+lines[1], nil); got.err == nil || !strings.Contains(got.err.Error(), "in:2: the line is not JSON") {
		t.Errorf("a mark elsewhere: %v", got.err)
	}
	for _, mark := range []string{"\xff\xfe{\x00", "\xfe\xff\x00{"} {
		if _, err := format.NewStream(strings.NewReader(mark)); !errors.Is(err, format.ErrUTF16) {
			t.Errorf("UTF-16: got %v", err)
		}
	}
	for _, short := range []string{"", "\xef", "\xef\xbb", "\ufeff"} {
		if _, err := format.NewStream(strings.NewReader(short)); err != nil {
			t.Errorf("%q: %v", short, err)
		}
	}
}

func TestSkipBad(t *testing.T) {
	lines := rowLines(200)
	want := slices.Clone(lines)
	for _, i := range []int{190, 101, 100, 0} {
		lines[i] = rowLine(fmt.Sprintf("awful%d", i))
		want = slices.Delete(want, i, i+1)
	}
	lines[50], lines[51] = `{"row_key":`, `{"row_key":nul,"cells":[]}`
	i := slices.Index(want, rowLine("row0050"))
	want = slices.Delete(want, i, i+2)

	f := newFake(t)
	f.write = refuse("awful", false)
	got := loadLines(t, f, strings.Join(lines, "\n"), func(o *Options) { o.SkipBad = true })
	if got.err != nil || got.Skipped != 6 || len(got.bad) != 6 {
		t.Errorf("%+v, want 6 skipped", got)
	}
	slices.Sort(f.taken)
	if !slices.Equal(f.taken, want) {
		t.Errorf("%d lines were written, want %d, the good ones", len(f.taken), len(want))
	}
	slices.Sort(got.bad)
	if len(got.bad) > 0 && !strings.HasPrefix(got.bad[0], "in:101: row key is awful") {
		t.Errorf("bad lines %q", got.bad)
	}
	if f.writes > 120 {
		t.Errorf("%d requests to find 5 lines of 199", f.writes)
	}
}

func TestTablesFamiliesAndGroups(t *testing.T) {
	line := func(columns ...string) string {
		var cells []string
		for _, c := range columns {
			cells = append(cells, fmt.Sprintf(`{"column_key":%q,"type":"string","value":"v"}`, c))
		}
		return `{"row_key":"a","cells":[` + strings.Join(cells, ",") + `]}`
	}
	text := line("title:", "contents:") + "\n" + line("anchor:com.example:8080/x", "title:")
	f := newFake(t)
	f.created = false
	if got := loadLines(t, f, text, nil); got.err == nil || !strings.Contains(got.err.Error(), "--create-table") {
		t.Errorf("without a table: error %v, want one that says how to create it", got.err)
	}
	all := func(o *Options) {
		o.CreateTable, o.CreateFamilies, o.Groups, o.BatchCells = true, true, [][]string{{"title", "language"}}, 1
	}
	for range 2 { // the second time everything is there
		if got := loadLines(t, f, text, all); got.err != nil || got.Rows != 2 {
			t.Fatalf("%+v, want 2 rows", got)
		}
		if want := []string{"title", "language", "contents", "anchor"}; !slices.Equal(f.families, want) {
			t.Errorf("families %q, want %q", f.families, want)
		}
		if len(f.groups) != 1 || !slices.Equal(f.groups[0], []string{"title", "language"}) {
			t.Errorf("groups %q", f.groups)
		}
	}
	got := loadLines(t, f, text, func(o *Options) { o.Groups = [][]string{{"contents"}} })
	if got.err == nil || !strings.Contains(got.err.Error(), `"contents" is there already`) {
		t.Errorf("a family cannot move: error %v", got.err)
	}
}

// A server that has no room for a table has not created it.
func TestNoRoomForATable(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 409, "drop a table first", "too_many_tables", "", nil)
	}))
	t.Cleanup(server.Close)
	f := newFake(t)
	f.url = server.URL
	got := loadLines(t, f, rowLine("a"), func(o *Options) { o.CreateTable = true })
	if got.err == nil || !strings.Contains(got.err.Error(), "drop a table first") {
		t.Errorf("error %v, want the server's", got.err)
	}
}

// A name that no family can have is wrong with its line, not with the load.
func TestImpossibleFamilyIsABadLine(t *testing.T) {
	f := newFake(t)
	f.write = refuse("in two", true)
	lines := rowLines(3)
	lines[1] = strings.Replace(lines[1], "f:q", "in two:q", 1)
	got := loadLines(t, f, strings.Join(lines, "\n"), func(o *Options) { o.CreateFamilies, o.SkipBad = true, true })
	if got.err != nil || got.Rows != 2 || len(got.bad) != 1 || !strings.HasPrefix(got.bad[0], "in:2: ") {
		t.Errorf("%+v, want 2 rows, and line 2 left out", got)
	}
	if !slices.Equal(f.families, []string{"f"}) {
		t.Errorf("families %q", f.families)
	}
}

func TestWrongCountIsAFailure(t *testing.T) {
	f := newFake(t)
	f.write = func(w http.ResponseWriter, _ int, items []json.RawMessage) bool {
		f.take(w, items[1:])
		return true
	}
	if got := loadLines(t, f, strings.Join(rowLines(3), "\n"), nil); got.err == nil || !strings.Contains(got.err.Error(), "took 2 cells of 3") {
		t.Errorf("error %v, want one about the count", got.err)
	}
}

func TestStopsWhenTheContextIsDone(t *testing.T) {
	f := newFake(t)
	ctx, cancel := context.WithCancel(context.Background())
	f.write = func(http.ResponseWriter, int, []json.RawMessage) bool { cancel(); return false }
	in, err := format.NewStream(strings.NewReader(strings.Join(rowLines(1000), "\n")))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Run(ctx, format.NewLines(in), Options{Server: Server{URL: f.url}, Table: "t", Name: "in", Parallel: 2, BatchCells: 10, RetryFor: time.Minute})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	if int(got.Rows) != len(f.taken) || got.Rows == 0 || got.Rows > 40 {
		t.Errorf("%d rows acknowledged, %d taken, want the same and few", got.Rows, len(f.taken))
	}
}

func TestURLs(t *testing.T) {
	in, err := format.NewStream(strings.NewReader(rowLine("a")))
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{"127.0.0.1:9", "ftp://x", ""} {
		if _, err := Run(context.Background(), format.NewLines(in), Options{Server: Server{URL: url}, Table: "t", Parallel: 1}); err == nil || !strings.Contains(err.Error(), "is no URL") {
			t.Errorf("URL %q: error %v, want one that it is none", url, err)
		}
	}
}

// A server may refuse a request that it has not read. The client may go on to send that when
// it has the answer, and what it sends must not come from other lines.
func TestRefusedUnread(t *testing.T) {
	f := newFake(t)
	next, rest := make(chan struct{}), make(chan []byte, 1)
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			f.getTable(w, r)
			return
		}
		switch requests.Add(1) {
		case 1:
			conn, in, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n{}")
			<-next
			conn.SetReadDeadline(time.Now().Add(10 * time.Second))
			b, _ := io.ReadAll(in)
			rest <- b
		case 2:
			close(next)
			fallthrough
		default:
			f.postWrite(w, r)
		}
	}))
	t.Cleanup(server.Close)
	f.url = server.URL
	// More than the system takes from the client before the server reads.
	long := strings.Replace(rowLine("long"), `"v"`, `"`+strings.Repeat("v", 8*maxBatchBytes)+`"`, 1)
	got := loadLines(t, f, long+"\n"+strings.Join(rowLines(3), "\n"), func(o *Options) {
		o.SkipBad, o.BatchCells = true, 1
	})
	if got.err != nil || got.Skipped != 1 || got.Rows != 3 {
		t.Errorf("%+v, want 1 skipped and 3 rows", got)
	}
	if sent := <-rest; len(sent) == 0 || !strings.HasPrefix(bodyStart+long+bodyEnd, string(sent)) {
		t.Errorf("of the refused request arrived %d bytes that are not its own", len(sent))
	}
}

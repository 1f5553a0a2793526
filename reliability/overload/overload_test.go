package overload

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/reliability/remote"
	"github.com/colonnade-db/colonnade/reliability/report"
)

// TestShortRounds: four with successive seeds have all trials, each with the figures that it must reach.
func TestShortRounds(t *testing.T) {
	whole := minimum(report.Env{})
	sum := map[string]int64{}
	for seed := range uint64(report.Shares) {
		for name, least := range minimum(report.Env{Seed: 7 + seed, Short: true}) {
			sum[name] += least
		}
	}
	if !maps.Equal(sum, whole) || whole["trials"] != int64(len(trials)) {
		t.Errorf("four short rounds have to reach %v, a whole one %v", sum, whole)
	}
}

// times returns n durations.
func times(n int, each time.Duration) []time.Duration {
	list := make([]time.Duration, n)
	for i := range list {
		list[i] = each
	}
	return list
}

// TestJudge: a server that falls over, gets slow, or lets everybody in is found out.
func TestJudge(t *testing.T) {
	peak := func() *outcome { return &outcome{took: time.Second, answered: times(1000, 10*time.Millisecond)} }
	for _, e := range []struct {
		name string
		over outcome
		want string
	}{
		{"a good one", outcome{answered: times(900, 20*time.Millisecond), refused: times(3000, time.Millisecond)}, ""},
		{"that falls over", outcome{answered: times(100, 20*time.Millisecond), refused: times(3000, time.Millisecond)}, "of the peak was answered"},
		{"that gets slow", outcome{answered: times(900, 90*time.Millisecond), refused: times(3000, time.Millisecond)}, "the slowest answers"},
		{"that refuses late", outcome{answered: times(900, 20*time.Millisecond), refused: times(3000, time.Second)}, "longer than answers"},
		{"that refuses nobody", outcome{answered: times(900, 20*time.Millisecond)}, "nobody was refused"},
		{"that fails", outcome{answered: times(900, 20*time.Millisecond), refused: times(3000, time.Millisecond), wrong: []error{errors.New("status 500")}}, "status 500"},
	} {
		e.over.took = time.Second
		said(t, e.name, judge([]comparison{{peak(), &e.over}, {peak(), &e.over}}), e.want)
	}
}

// TestSuffered: so is one whose good clients notice the bad ones.
func TestSuffered(t *testing.T) {
	before := &outcome{answered: times(100, 5*time.Millisecond)}
	said(t, "not slower", suffered(before, &outcome{answered: times(100, 9*time.Millisecond)}), "")
	said(t, "much slower", suffered(before, &outcome{answered: times(100, time.Second)}), "the slowest reads")
	said(t, "refused", suffered(before, &outcome{answered: times(100, time.Millisecond), refused: times(1, 0)}), "1 were refused")
	said(t, "failing", suffered(before, &outcome{answered: times(100, time.Millisecond), wrong: []error{errors.New("lost")}}), "lost")
	said(t, "stuck", suffered(before, &outcome{}), "nobody was answered")
}

func said(t *testing.T, name string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got %v, want %q", name, err, want)
	}
}

// lying acknowledges every write and keeps only some rows of it.
func lying(t *testing.T, rows string) *remote.Client {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/count") {
			_, _ = w.Write([]byte(`{"result":{"row_count":` + rows + `}}`))
			return
		}
		_, _ = w.Write([]byte(`{"result":null}`))
	}))
	t.Cleanup(s.Close)
	return remote.NewClient(s.URL, 2)
}

// TestLostRows: acknowledged rows that are not there are missed, and so are some.
func TestLostRows(t *testing.T) {
	for rows, want := range map[string]string{"10": "", "0": "was acknowledged, and has 0 of its 10 rows", "9": "was acknowledged, and has 9 of its 10 rows"} {
		c := lying(t, rows)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		a := write(ctx, c, 2)
		cancel()
		if a.rows() == 0 {
			t.Fatal("nothing was acknowledged")
		}
		said(t, rows+" rows", a.check(t.Context(), c), want)
	}
}

// TestStrangeAnswers: a refusal has to say when to come back, and any other error is
// none that a server in need may give.
func TestStrangeAnswers(t *testing.T) {
	var status atomic.Int64
	var after atomic.Value
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", after.Load().(string))
		w.Header().Set("X-Took-Ms", "7")
		w.WriteHeader(int(status.Load()))
	}))
	defer s.Close()
	w := wires(s.Listener.Addr().String(), 1)
	defer hangUp(w)
	for _, e := range []struct {
		status int64
		after  string
		want   string
	}{{200, "", ""}, {503, "3", "refused"}, {429, "1", "refused"}, {503, "", "want 1 to 5"}, {503, "60", "want 1 to 5"}, {500, "1", "status 500"}} {
		status.Store(e.status)
		after.Store(e.after)
		said(t, e.after, answer(w[0].post(request("/", nil))), e.want)
	}
}

// TestConnections: a client keeps its connection as long as the server does, or has a new
// one for each request if it shall.
func TestConnections(t *testing.T) {
	var opened, answered atomic.Int64
	var closing atomic.Bool
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answered.Add(1)
		if closing.Load() {
			w.Header().Set("Connection", "close")
		}
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	for _, e := range []struct {
		name          string
		once, closing bool
	}{{"kept", false, false}, {"one each", true, false}, {"closed by the server", false, true}} {
		opened.Store(0)
		answered.Store(0)
		closing.Store(e.closing)
		conns := wires(s.Listener.Addr().String(), 2)
		o := load{path: "/", bodies: [][]byte{nil}, long: 100 * time.Millisecond, once: e.once}.run(t.Context(), conns)
		hangUp(conns)
		want := answered.Load()
		if !e.once && !e.closing {
			want = 2
		}
		if len(o.wrong) > 0 || len(o.answered) != int(answered.Load()) || opened.Load() != want || answered.Load() <= 2 {
			t.Errorf("%s: %d requests, %d answered, %d failed (%v), %d connections, want %d", e.name, answered.Load(), len(o.answered), len(o.wrong), errors.Join(o.wrong...), opened.Load(), want)
		}
	}
}

// TestTrialsInProcess runs the quick trials that have their server in this process.
func TestTrialsInProcess(t *testing.T) {
	var s report.Section
	for _, try := range []func(context.Context, *run) error{bug, slowDisk} {
		if err := try(t.Context(), &run{report.Env{Seed: 1}, &s}); err != nil {
			t.Error(err)
		}
	}
	if f := s.Figures(); f["hung_writes_unknown"].Value != 1 || f["panics"].Value != 7 {
		t.Errorf("got the figures %v, want a write whose outcome was unknown, and seven panics", f)
	}
}

package server

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"colonnade/admission"
	"colonnade/metrics"
	"colonnade/quota"
	"colonnade/widecol"
)

// SetQuotas replaces Options.Quotas, for requests from now on. It forgives what was used too much before.
func (s *Server) SetQuotas(r quota.Rules) { s.quotas.Store(quota.New(r)) }

func newQuotaRefusals(m *metrics.Registry) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "colonnade_quota_refusals_total", Help: "Requests refused for a quota, by whose quota it is, its pattern, and what was used too much: rows, bytes or storage.",
	}, []string{"of", "pattern", "limit"})
	m.Add(c)
	return c
}

// admitQuota refuses a request whose table or token has used too much.
func (x *requestContext) admitQuota() error {
	c := x.server.quotas.Load()
	if c == nil || x.class == admission.Quick {
		return nil
	}
	if err := c.Admit(x.table, x.tokenName(), x.start); err != nil {
		return x.server.overQuota(err)
	}
	x.quota = c
	return nil
}

func (x *requestContext) tokenName() string {
	if x.token == nil {
		return ""
	}
	return x.token.Name
}

// overQuota turns a *quota.Refusal into a response.
func (s *Server) overQuota(err error) error {
	var r *quota.Refusal
	if !errors.As(err, &r) {
		return err
	}
	s.quotaRefusals.WithLabelValues(r.Holder(), r.Pattern, r.Unit).Inc()
	at := atPath
	if r.Token {
		at = atHeader
	}
	return refuse(http.StatusTooManyRequests, "quota_exceeded", at, "%s", r.Error()).
		with("Retry-After", strconv.Itoa(int(math.Ceil(r.RetryAfter.Seconds()))))
}

// payQuota charges what the request has used since it last paid. A request costs a row at least.
func (x *requestContext) payQuota() {
	if x.quota == nil {
		return
	}
	rows, bytes := max(x.stats.Rows, x.stats.RowsScanned, x.asked, 1), x.received+x.written
	x.quota.Charge(x.table, x.tokenName(), rows-x.paidRows, bytes-x.paidBytes, x.server.opt.Now())
	x.paidRows, x.paidBytes = rows, bytes
}

// awaitQuota waits until a stream of lines, which has paid for what it wrote, may go on. It returns the error of the
// context.
func (x *requestContext) awaitQuota() error {
	for x.quota != nil {
		err := x.quota.Admit(x.table, x.tokenName(), x.server.opt.Now())
		var r *quota.Refusal
		if !errors.As(err, &r) {
			return nil
		}
		x.Release() // others need the slot meanwhile
		woken := make(chan struct{})
		wait := min(max(r.RetryAfter, time.Millisecond), time.Second) // no longer, to see whether the server stops
		stop := x.server.opt.Clock.AfterFunc(wait, func() { close(woken) })
		select {
		case <-woken:
		case <-x.ctx().Done():
			stop()
			return x.ctx().Err()
		}
		if x.server.admission.Draining() {
			return shuttingDown()
		}
	}
	return nil
}

// admitStorage refuses mutations that set something in a table that has more bytes than its quota. Deletions stay possible.
func (x *requestContext) admitStorage(mutations ...[]widecol.Mutation) error {
	sets := func(m widecol.Mutation) bool { return m.Op == widecol.Set }
	if x.quota == nil || !slices.ContainsFunc(mutations, func(list []widecol.Mutation) bool { return slices.ContainsFunc(list, sets) }) {
		return nil
	}
	return x.admitUpdate()
}

// admitUpdate is admitStorage for an update that always sets something.
func (x *requestContext) admitUpdate() error {
	if x.quota == nil {
		return nil
	}
	limit, pattern := x.quota.Storage(x.table)
	if limit == 0 {
		return nil
	}
	size, err := x.server.sizes.of(x.ctx(), x.table, x.server.opt.Now())
	if err != nil || size <= limit {
		return err
	}
	x.server.quotaRefusals.WithLabelValues("table", pattern, "storage").Inc()
	return refuse(http.StatusInsufficientStorage, "storage_quota_exceeded", atPath,
		"table %q has %d bytes, and its quota is %d: delete rows, which takes effect as they are compacted, or raise the quota", x.table, size, limit)
}

// tableSizes are the bytes of tables, as of about a second ago: asking for them goes through all partitions.
type tableSizes struct {
	store widecol.Store

	mu    sync.Mutex
	at    time.Time        // of the last look; guarded by mu
	bytes map[string]int64 // by table; guarded by mu
}

// sizesEvery is the time between two looks.
const sizesEvery = time.Second

// of returns the bytes of a table in files and memtables. Those who come during a look wait for it.
func (t *tableSizes) of(ctx context.Context, table string, now time.Time) (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bytes == nil || now.Sub(t.at) >= sizesEvery {
		tables, err := t.store.Tables(ctx)
		if err != nil {
			return 0, err
		}
		t.bytes, t.at = make(map[string]int64, len(tables)), now
		for i := range tables {
			size := tables[i].DiskBytes
			for _, p := range tables[i].Partitions {
				size += p.Stats.MemtableBytes
			}
			t.bytes[tables[i].Name] = size
		}
	}
	return t.bytes[table], nil
}

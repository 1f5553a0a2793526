package server

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/metrics"
	"github.com/colonnade-db/colonnade/quota"
	"github.com/colonnade-db/colonnade/widecol"
)

// SetQuotas replaces Options.Quotas, for requests from now on. It forgives what was used too much before.
func (s *Server) SetQuotas(r quota.Rules) { s.quotas.Set(r) }

// Quotas returns what asks for quotas, for other front ends of the same Store.
func (s *Server) Quotas() *quota.Gate { return s.quotas }

// newGate returns the Gate of a store, whose refusals m counts.
func newGate(store widecol.Store, r quota.Rules, m *metrics.Registry) *quota.Gate {
	refusals := newQuotaRefusals(m)
	return quota.NewGate(r, func(ctx context.Context) (map[string]int64, error) { return sizesOf(ctx, store) },
		func(of, pattern, limit string) { refusals.WithLabelValues(of, pattern, limit).Inc() })
}

// sizesOf returns the bytes of each table in files and memtables.
func sizesOf(ctx context.Context, store widecol.Store) (map[string]int64, error) {
	tables, err := store.Tables(ctx)
	if err != nil {
		return nil, err
	}
	sizes := make(map[string]int64, len(tables))
	for i := range tables {
		size := tables[i].DiskBytes
		for _, p := range tables[i].Partitions {
			size += p.Stats.MemtableBytes
		}
		sizes[tables[i].Name] = size
	}
	return sizes, nil
}

func newQuotaRefusals(m *metrics.Registry) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "colonnade_quota_refusals_total", Help: "Requests refused for a quota, by whose quota it is, its pattern, and what was used too much: rows, bytes or storage.",
	}, []string{"of", "pattern", "limit"})
	m.Add(c)
	return c
}

// admitQuota refuses a request whose table or token has used too much.
func (x *requestContext) admitQuota() error {
	c := x.server.quotas.Control()
	if c == nil || x.class == admission.Quick {
		return nil
	}
	if err := x.server.quotas.Admit(c, x.table, x.tokenName(), x.start); err != nil {
		return overQuota(err)
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
func overQuota(err error) error {
	var r *quota.Refusal
	if !errors.As(err, &r) {
		return err
	}
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
	writes := func(m widecol.Mutation) bool { return m.Writes() }
	if x.quota == nil || !slices.ContainsFunc(mutations, func(list []widecol.Mutation) bool { return slices.ContainsFunc(list, writes) }) {
		return nil
	}
	return x.admitUpdate()
}

// admitUpdate is admitStorage for an update that always sets something.
func (x *requestContext) admitUpdate() error {
	if x.quota == nil {
		return nil
	}
	err := x.server.quotas.AdmitStorage(x.ctx(), x.quota, x.table, x.server.opt.Now())
	if r, ok := err.(*quota.StorageRefusal); ok {
		return refuse(http.StatusInsufficientStorage, "storage_quota_exceeded", atPath, "%s", r.Error())
	}
	return err
}

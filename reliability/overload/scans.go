package overload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	scanClients = 100
	slowReaders = 50
	scannedRows = 20_000
	// mostScanMiB bounds the memory of the process with small budgets and a hundred clients that read everything.
	mostScanMiB = 400
)

// scans lets a hundred clients read everything, and others not read their responses, while some read single rows.
func scans(ctx context.Context, r *run) error {
	n, err := r.start(ctx, "scans", scanClients, nil, "--memtable-mib", "16", "--cache-mib", "16")
	if err != nil {
		return err
	}
	defer n.end()
	for i := range scannedRows / 500 {
		if err := insist(ctx, n.Client, table+"/write", batch(fmt.Sprintf("r%03d-", i), 500, 10, 100)); err != nil {
			return err
		}
	}
	conns := wires(n.address(), 4)
	defer hangUp(conns)
	reads := load{path: table + "/rows", bodies: [][]byte{rowOf("r000-00001")}, long: time.Second}
	before := reads.run(ctx, conns)

	stuck, err := dial(n.address(), slowReaders)
	if err != nil {
		return err
	}
	defer closeAll(stuck)
	each(stuck, func(c net.Conn) {
		_, _ = io.WriteString(c, "POST "+table+"/scan HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
	})
	scanned := make(chan error, 1)
	go func() { scanned <- r.scanAll(ctx, n) }()
	reads.long = 2 * time.Second
	among := reads.run(ctx, conns)
	err = <-scanned
	_, most, memErr := n.resident()
	r.Largest("scan_mib", most)
	r.Largest("scans_p99_percent", percent(float64(quantile(among.answered, 0.99)), float64(quantile(before.answered, 0.99))))
	r.Largest("scans_p99_us", quantile(among.answered, 0.99).Microseconds())
	if most > mostScanMiB {
		err = errors.Join(err, fmt.Errorf("the server has taken %d MiB, want at most %d MiB", most, mostScanMiB))
	}
	return errors.Join(err, memErr, suffered(before, among), n.alive(ctx))
}

// scanAll reads everything with a hundred clients. Every other one leaves in the middle.
func (r *run) scanAll(ctx context.Context, n *node) error {
	var wait sync.WaitGroup
	var whole, short atomic.Int64
	var first atomic.Pointer[error]
	fail := func(err error) { first.CompareAndSwap(nil, &err) }
	c := &http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}, Timeout: time.Minute}
	for i := range scanClients {
		wait.Go(func() {
			resp, err := c.Post(n.url+table+"/scan", "application/json", strings.NewReader("{}"))
			if err != nil {
				fail(err)
				return
			}
			defer resp.Body.Close()
			switch {
			case resp.StatusCode == http.StatusServiceUnavailable:
			case resp.StatusCode != http.StatusOK:
				fail(fmt.Errorf("a scan was answered with %d", resp.StatusCode))
			case i%2 == 0:
				_, _ = io.CopyN(io.Discard, resp.Body, 1<<20)
				short.Add(1)
			default:
				tail := lastBytes{}
				if _, err := io.Copy(&tail, resp.Body); err != nil {
					fail(fmt.Errorf("a scan was broken off: %w", err))
				} else if want := fmt.Sprintf(`"row_count":%d,`, scannedRows); !strings.Contains(string(tail), want) {
					fail(fmt.Errorf("a scan ends with %q, want all %d rows", tail, scannedRows))
				}
				whole.Add(1)
			}
		})
	}
	wait.Wait()
	r.Add("scan_clients", scanClients)
	r.Add("whole_scans", whole.Load())
	if err := first.Load(); err != nil {
		return *err
	}
	if whole.Load() == 0 {
		return errors.New("no scan has come to its end")
	}
	return nil
}

// lastBytes keeps the last of what is written to it.
type lastBytes []byte

func (l *lastBytes) Write(p []byte) (int, error) {
	*l = append(*l, p...)
	if extra := len(*l) - 512; extra > 0 {
		*l = append((*l)[:0], (*l)[extra:]...)
	}
	return len(p), nil
}

package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
)

// auditFile is the file of the audit log. It is safe for concurrent use.
type auditFile struct {
	path string
	log  *slog.Logger // of the server: gets what keeps lines from being written

	mu   sync.Mutex
	f    *os.File // guarded by mu
	lost int      // lines since the last one that was written; guarded by mu
}

// openAudit returns the audit log, or nil without one.
func openAudit(o *serveOptions, log *slog.Logger) (*slog.Logger, *auditFile, error) {
	if o.auditLog == "" {
		return nil, nil, nil
	}
	a := &auditFile{path: o.auditLog, log: log}
	if err := a.reopen(); err != nil {
		return nil, nil, fmt.Errorf("--audit-log: %w", err)
	}
	return slog.New(slog.NewJSONHandler(a, nil)), a, nil
}

// reopen opens the file by its name again, which is another file after a rotation. If that fails, the one before stays.
func (a *auditFile) reopen() error {
	f, err := os.OpenFile(a.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.f != nil {
		err = a.f.Close()
	}
	a.f = f
	return err
}

// Write appends a line. Package slog drops its error, so the server's log gets the first of several, and how many lines were
// lost once they are written again.
func (a *auditFile) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, err := a.f.Write(p)
	switch {
	case err != nil:
		if a.lost == 0 {
			a.log.Error("the audit log cannot be written, and requests go on without it", "cause", err)
		}
		a.lost++
	case a.lost > 0:
		a.log.Warn("the audit log is written again", "lost_lines", a.lost)
		a.lost = 0
	}
	return n, err
}

// Close makes the file durable if it is one on a disk: pipes and terminals cannot be.
func (a *auditFile) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	info, err := a.f.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = a.f.Sync()
	}
	return errors.Join(err, a.f.Close())
}

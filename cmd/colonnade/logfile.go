package main

import (
	"errors"
	"log/slog"
	"os"
	"sync"
)

// logFile is a file that gets lines of a log besides that of the server. It is safe for concurrent use.
type logFile struct {
	what string // such as "audit log"
	path string
	log  *slog.Logger // of the server: gets what keeps lines from being written

	mu   sync.Mutex
	f    *os.File // guarded by mu
	lost int      // lines since the last one that was written; guarded by mu
}

func openLogFile(what, path string, log *slog.Logger) (*logFile, error) {
	l := &logFile{what: what, path: path, log: log}
	return l, l.reopen()
}

// reopen opens the file by its name again, which is another file after a rotation. If that fails, the one before stays.
func (l *logFile) reopen() error {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f != nil {
		err = l.f.Close()
	}
	l.f = f
	return err
}

// Write appends a line. Package slog drops its error, so the server's log gets the first of several, and how many lines were
// lost once they are written again.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.f.Write(p)
	switch {
	case err != nil:
		if l.lost == 0 {
			l.log.Error("the "+l.what+" cannot be written, and requests go on without it", "cause", err)
		}
		l.lost++
	case l.lost > 0:
		l.log.Warn("the "+l.what+" is written again", "lost_lines", l.lost)
		l.lost = 0
	}
	return n, err
}

// Close makes the file durable if it is one on a disk: pipes and terminals cannot be.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	info, err := l.f.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = l.f.Sync()
	}
	return errors.Join(err, l.f.Close())
}

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
)

// logs are those of the server, and their files.
type logs struct {
	server *slog.Logger
	audit  *slog.Logger // nil without one
	access *slog.Logger // the same
	files  []*logFile
}

// toServerLog is the name of the access log that stands for the log of the server.
const toServerLog = "-"

// openLogs opens the logs that the options name. The server's own goes to w.
func openLogs(o *serveOptions, w io.Writer) (*logs, error) {
	l := &logs{server: o.newLog(w)}
	if o.auditLog != "" {
		f, err := l.open("audit-log", "audit log", o.auditLog)
		if err != nil {
			return nil, err
		}
		l.audit = slog.New(slog.NewJSONHandler(f, nil))
	}
	switch o.accessLog {
	case "":
	case toServerLog:
		l.access = l.server
	default:
		f, err := l.open("access-log", "access log", o.accessLog)
		if err != nil {
			return nil, errors.Join(err, l.close())
		}
		l.access = slog.New(o.logHandler(f, nil))
	}
	return l, nil
}

func (l *logs) open(option, what, path string) (*logFile, error) {
	f, err := openLogFile(what, path, l.server)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w%s", option, err, logFileAdvice(err))
	}
	l.files = append(l.files, f)
	return f, nil
}

// logFileAdvice says what to do about the error of opening a file of a log.
func logFileAdvice(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ": make its directory first"
	case errors.Is(err, fs.ErrPermission):
		return ": the user of this process must be able to write the file, and make it in its directory"
	}
	return ""
}

// reopen opens the files by their names again.
func (l *logs) reopen() {
	for _, f := range l.files {
		if err := f.reopen(); err != nil {
			l.server.Error("the "+f.what+" goes on in the file that is open", "cause", err)
		}
	}
}

func (l *logs) close() (err error) {
	for _, f := range l.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

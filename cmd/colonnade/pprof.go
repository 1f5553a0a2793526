package main

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"time"
)

// servePprof serves profiles of the process on a listener of their own, if the options name one, until stop is called.
func servePprof(o *serveOptions, log *slog.Logger) (stop func(), err error) {
	if o.pprofListen == "" {
		return func() {}, nil
	}
	l, err := listen("--pprof-listen", o.pprofListen)
	if err != nil {
		return nil, err
	}
	log.Info("profiles are served", "url", "http://"+l.Addr().String()+"/debug/pprof/")
	s := http.Server{Handler: pprofHandler(), ReadHeaderTimeout: 5 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Serve(l); err != http.ErrServerClosed {
			log.Error("profiles are no longer served", "cause", err)
		}
	}()
	return func() {
		_ = s.Close() // also a profile under way: nobody waits for it
		<-done
	}, nil
}

func pprofHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !addressed(r.Host) {
			http.Error(w, "profiles are for localhost and IP addresses, not for the host of this request", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// addressed reports whether a Host is localhost or an IP address. The page of a browser whose name was pointed at this
// machine has to send its name.
func addressed(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(host)
	return err == nil || host == "localhost"
}

package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"

	"github.com/spf13/pflag"

	"github.com/colonnade-db/colonnade/bigtable"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/config"
	"github.com/colonnade-db/colonnade/server"
)

// defaultData is the default directory of serve and check.
const defaultData = "./colonnade-data"

// dataVariable is the environment variable of --data, which check takes, too.
const dataVariable = config.Prefix + "DATA"

// serveOptions are the options of serve. The values of those that a reload takes are for the goroutine
// that reloads.
type serveOptions struct {
	config *config.Set

	data     string
	listen   string
	hosts    []string
	origins  []string
	insecure bool

	noConsole bool

	tokens       string
	authFailures int64
	auditLog     string
	tlsCert      string
	tlsKey       string
	tlsClientCA  string

	memtableMiB int64
	cacheMiB    int64

	maxBodyMiB     int64
	maxInflightMiB int64
	maxConnections int64
	maxScans       int64
	writeSlots     int64
	readSlots      int64
	scanSlots      int64

	timeouts server.Timeouts

	diskReserveMiB    int64
	walMiB            int64
	compactionWorkers int64
	scrubMiB          int64
	openFiles         int64

	archive archiveOptions

	logLevel  string
	logFormat string
	accessLog string
	slowMs    int64

	tableQuotas []config.Entry
	tokenQuotas []config.Entry

	bigtableListen   string
	bigtableInstance string
	tableBackups     tableBackups

	pprofListen   string
	traceEndpoint string
	traceRatio    float64
}

// declareOptions declares the options of serve.
func declareOptions(flags *pflag.FlagSet) *serveOptions {
	o := &serveOptions{config: config.New(flags)}
	c := o.config
	c.Section("Directory and address")
	c.String(&o.data, "data", defaultData, "directory of the tables; made if need be, for its owner alone")
	c.String(&o.listen, "listen", "127.0.0.1:9876", "HOST:PORT to listen on, port 0 for any that is free")
	c.Strings(&o.hosts, "host", "name by which clients address this server, such as that of a proxy in front of it; may be repeated (localhost and IP addresses need none)")
	c.Strings(&o.origins, "cors-origin", "origin of web pages that may send requests, such as https://console.example.com; may be repeated")
	c.Bool(&o.insecure, "insecure", "listen on other than loopback addresses without TLS or without tokens")

	c.Bool(&o.noConsole, "no-console", "serve no web page at GET /; see console.md")

	c.Section("Bigtable's clients")
	c.String(&o.bigtableListen, "bigtable-listen", "", "HOST:PORT for clients of Google Bigtable (gRPC), such as 127.0.0.1:8086; none by default; see bigtable.md")
	c.String(&o.bigtableInstance, "bigtable-instance", bigtable.DefaultInstance, "instance whose tables have the names that HTTP clients see; tables of others are called PROJECT$INSTANCE$TABLE there")
	c.Check(func() error {
		if err := bigtable.ParseInstance(o.bigtableInstance); err != nil {
			return o.config.Wrong("bigtable-instance", "must be a name such as projects/PROJECT/instances/INSTANCE")
		}
		return nil
	})
	o.declareTableBackups()

	c.Section("Access")
	c.String(&o.tokens, "tokens", "", "file of tokens, as colonnade token makes it: requests need one of them; a change of the file applies within two seconds")
	c.Int64(&o.authFailures, "auth-failures", 20, config.Range{Min: 0, Max: 1000, Unit: "a minute"}, "requests without a valid token of an address before further ones get 429 and no line in the audit log; 0 for any number")
	c.String(&o.auditLog, "audit-log", "", "file that gets a line of JSON for each change of a schema or of tokens, and for each request that is refused for its token; SIGHUP opens it again")
	c.String(&o.tlsCert, "tls-cert", "", "file with the certificate of the server and those between it and the authority, in PEM; a change applies within two seconds")
	c.String(&o.tlsKey, "tls-key", "", "file with the key of tls-cert, in PEM")
	c.String(&o.tlsClientCA, "tls-client-ca", "", "file with certificates of authorities, in PEM: clients need a certificate of one of them")
	c.Check(o.checkAccess)

	c.Section("Memory")
	c.Int64(&o.memtableMiB, "memtable-mib", 128, config.Range{Min: 1, Max: maxMemtableMiB, Unit: "MiB"}, "memory for writes that are not in sorted files yet; also what a restart after a crash has to replay")
	c.Int64(&o.cacheMiB, "cache-mib", 256, config.Range{Min: 1, Max: maxMiB, Unit: "MiB"}, "memory for blocks of sorted files")

	o.declareLimits()
	o.declareTimeouts()
	o.declareDisk()
	o.declareArchive()

	c.Section("Log of the server")
	c.Choice(&o.logLevel, "log-level", "info", []string{"debug", "info", "warn", "error"}, "least level of what goes to standard error").Reloads()
	c.Choice(&o.logFormat, "log-format", "text", []string{"text", "json"}, "form of the lines on standard error, and of the access log")
	c.String(&o.accessLog, "access-log", "", "file that gets a line for each request, or - for standard error, at level info; SIGHUP opens it again; see operations.md")
	c.Int64(&o.slowMs, "slow-query-ms", 0, config.Range{Min: 0, Max: 3_600_000, Unit: "ms"}, "queries that take as long are logged with their shape and what they read, at level warn; 0 for none; see operations.md").Reloads()

	c.Section("Profiles and traces")
	c.String(&o.pprofListen, "pprof-listen", "", "HOST:PORT for profiles of the process (net/http/pprof), without access control, so a loopback address unless insecure is set; none by default")
	c.String(&o.traceEndpoint, "trace-endpoint", "", "URL of a collector of OpenTelemetry that takes traces over HTTP, such as http://127.0.0.1:4318; none by default")
	c.Fraction(&o.traceRatio, "trace-ratio", 0.01, "part of the requests that are traced; of those with a header traceparent the caller decides").Reloads()
	c.Check(o.checkTraces)

	o.declareQuotas()
	return o
}

// load finds the values, and checks what serve needs before it starts. The warnings are for the log.
func (o *serveOptions) load(ctx context.Context) (warnings []string, err error) {
	if warnings, err = o.config.Load(os.Environ()); err != nil {
		return nil, usageError{err}
	}
	if err := errors.Join(o.checkListen(ctx), o.checkPprofListen(ctx)); err != nil {
		return nil, usageError{err}
	}
	return warnings, nil
}

// checkAccess checks options that go together.
func (o *serveOptions) checkAccess() error {
	switch {
	case o.tlsCert != "" && o.tlsKey == "":
		return o.config.Wrong("tls-cert", "needs tls-key")
	case o.tlsKey != "" && o.tlsCert == "":
		return o.config.Wrong("tls-key", "needs tls-cert")
	case o.tlsClientCA != "" && o.tlsCert == "":
		return o.config.Wrong("tls-client-ca", "needs tls-cert and tls-key")
	}
	for _, host := range o.hosts {
		if !server.CheckHost(host) {
			return o.config.Wrong("host", "%q is no name such as tables.example.com, without a scheme and a path", host)
		}
	}
	for _, origin := range o.origins {
		if err := server.CheckOrigin(origin); err != nil {
			return o.config.Wrong("cors-origin", "%q is no origin such as https://console.example.com, without a path and without *", origin)
		}
	}
	return nil
}

// checkListen refuses addresses that other machines can reach, unless what they send is protected.
func (o *serveOptions) checkListen(ctx context.Context) error {
	err := o.checkAddress(ctx, "listen", o.listen)
	if o.bigtableListen != "" {
		err = errors.Join(err, o.checkAddress(ctx, "bigtable-listen", o.bigtableListen))
	}
	return err
}

func (o *serveOptions) checkAddress(ctx context.Context, name, address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return o.config.Wrong(name, "must be HOST:PORT")
	}
	if o.insecure || o.tokens != "" && o.tlsCert != "" {
		return nil
	}
	local, err := loopback(ctx, host)
	if err != nil {
		return o.config.Wrong(name, "%v", err)
	}
	if !local {
		return o.config.Wrong(name, "the address can be reached from other machines, so it needs tokens, tls-cert and tls-key: see colonnade token; "+
			"without them anyone there could read and change every table, or listen in: to accept that, add --insecure")
	}
	return nil
}

// checkPprofListen refuses addresses that other machines can reach: profiles have no access control.
func (o *serveOptions) checkPprofListen(ctx context.Context) error {
	if o.pprofListen == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(o.pprofListen)
	if err != nil {
		return o.config.Wrong("pprof-listen", "must be HOST:PORT, such as 127.0.0.1:6060")
	}
	if o.insecure {
		return nil
	}
	local, err := loopback(ctx, host)
	if err != nil {
		return o.config.Wrong("pprof-listen", "%v", err)
	}
	if !local {
		return o.config.Wrong("pprof-listen", "the address can be reached from other machines, and profiles have no access control: use 127.0.0.1 and a tunnel, "+
			"such as ssh -L 6060:127.0.0.1:6060, or add --insecure")
	}
	return nil
}

// loopback reports whether all addresses of a host are loopback addresses. An empty host means all
// addresses of the machine.
func loopback(ctx context.Context, host string) (bool, error) {
	if host == "" {
		return false, nil
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return false, err
	}
	for _, a := range addresses {
		if !a.Unmap().IsLoopback() {
			return false, nil
		}
	}
	return true, nil
}

// newLog returns the log that the options ask for. Its level follows a reload.
func (o *serveOptions) newLog(w io.Writer) *slog.Logger {
	level := new(slog.LevelVar)
	follow := func() { _ = level.UnmarshalText([]byte(o.logLevel)) } // the option takes no other words
	follow()
	o.config.OnReload(follow)
	return slog.New(o.logHandler(w, level))
}

// logHandler writes lines in the form that the options ask for. A nil level is that of information.
func (o *serveOptions) logHandler(w io.Writer, level slog.Leveler) slog.Handler {
	if o.logFormat == "json" {
		return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})
	}
	return slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})
}

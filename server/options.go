package server

import (
	"cmp"
	"io/fs"
	"log/slog"
	"time"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/metrics"
	"github.com/colonnade-db/colonnade/quota"
	"github.com/colonnade-db/colonnade/tracing"
)

// Options configure a Server. Only Now is required.
type Options struct {
	// Now is the clock for durations and for deadlines of connections. It must have a monotonic
	// reading and be close to the machine's time.
	Now func() time.Time
	// Clock bounds how long a request waits for its slot. nil is clock.System.
	Clock clock.Clock
	// Seed seeds the random part of Retry-After.
	Seed uint64
	// Log gets the server's own errors. nil drops them.
	Log *slog.Logger
	// Metrics are those that GET /metrics answers with. The server adds its own. nil is a new Registry.
	Metrics *metrics.Registry
	// Hosts are further names that a client may use as Host. localhost and IP addresses are always
	// allowed, and without Hosts all names on addresses that are not loopback addresses.
	Hosts []string
	// Origins are those of web pages that may send requests, such as https://console.example.com: see CheckOrigin.
	Origins []string
	// Console are the files of a web page, index.html and what that loads from /console/, for GET /. No token is
	// needed for them. nil is none.
	Console fs.FS
	// Access identifies the senders of requests by their tokens. nil lets everybody do everything.
	Access *access.Control
	// Audit gets a line for each change of a schema, and for each request that was refused for its token. nil
	// drops them.
	Audit *slog.Logger
	// AccessLog gets a line for each request that has come to its handler. nil drops them.
	AccessLog *slog.Logger
	// SlowQuery is how long a query must take for Log to get it, with its explanation. 0 is for none.
	SlowQuery time.Duration
	// Quotas are those of tables and tokens.
	Quotas quota.Rules
	// Tracer follows requests but those for health and metrics. nil follows none.
	Tracer *tracing.Tracer
	// MaxBody bounds the body of a write or a read of rows, in bytes before and after inflating. 0
	// is the constant MaxBody.
	MaxBody int64
	// Limits are shared by all requests. Those beyond them get 503. Limits.Memory must be more than
	// MaxBody.
	Limits admission.Limits
	// MaxConns bounds the connections of Serve, and those of others that Server.Connections has. 0 is the constant MaxConns.
	MaxConns int
	// Timeouts bound waits. A zero field is its default.
	Timeouts Timeouts
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		panic("server: Options.Now is not set")
	}
	if o.Clock == nil {
		o.Clock = clock.System
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = metrics.New()
	}
	if o.MaxBody == 0 {
		o.MaxBody = MaxBody
	}
	o.Limits = o.Limits.WithDefaults()
	o.Timeouts = o.Timeouts.WithDefaults()
	if o.MaxConns == 0 {
		o.MaxConns = MaxConns
	}
	return o
}

// MaxBody is the default of Options.MaxBody, in bytes.
const MaxBody = 64 << 20

// MaxConns is the default of Options.MaxConns.
const MaxConns = 4096

// maxSmallBody bounds the bodies of other requests, in bytes. Decoded, they can be many times as
// large.
const maxSmallBody = 4 << 20

// maxHeader bounds the header of a request, in bytes. http1 allows up to 4 KiB more.
const maxHeader = 16 << 10

// Timeouts bound how long a client may keep the server waiting, and the server its clients. Those of clients
// may end up to a sixteenth late (http1).
type Timeouts struct {
	Header   time.Duration // for the header of a request; the default is 5 s
	Read     time.Duration // for the whole request, but a stream of lines; 30 s
	Progress time.Duration // for a piece of a stream of lines, or of a response; 60 s
	Idle     time.Duration // between two requests of a connection; 60 s
	Write    time.Duration // for the store to confirm a change; after it the outcome is unknown; 30 s
	Drain    time.Duration // for requests under way at a shutdown; 10 s
	linger   time.Duration // for the rest of an unwanted body; 1 s
}

// WithDefaults returns the timeouts without zeros.
func (t Timeouts) WithDefaults() Timeouts {
	return Timeouts{
		Header:   cmp.Or(t.Header, 5*time.Second),
		Read:     cmp.Or(t.Read, 30*time.Second),
		Progress: cmp.Or(t.Progress, 60*time.Second),
		Idle:     cmp.Or(t.Idle, 60*time.Second),
		Write:    cmp.Or(t.Write, 30*time.Second),
		Drain:    cmp.Or(t.Drain, 10*time.Second),
		linger:   cmp.Or(t.linger, time.Second),
	}
}

package server

import (
	"log/slog"
	"time"

	"colonnade/access"
	"colonnade/clock"
	"colonnade/metrics"
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
	// Access identifies the senders of requests by their tokens. nil lets everybody do everything.
	Access *access.Control
	// Audit gets a line for each change of a schema, and for each request that was refused for its token. nil
	// drops them.
	Audit *slog.Logger
	// MaxBody bounds the body of a write or a read of rows, in bytes before and after inflating. 0
	// is the constant MaxBody.
	MaxBody int64
	// MaxInflight bounds the bytes of all bodies under way together. Requests beyond it get 503. 0
	// is 256 MiB.
	MaxInflight int64
	// MaxConns bounds the connections of Serve. 0 is 4,096.
	MaxConns int
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
	if o.MaxInflight == 0 {
		o.MaxInflight = 256 << 20
	}
	if o.MaxConns == 0 {
		o.MaxConns = 4096
	}
	return o
}

// MaxBody is the default of Options.MaxBody, in bytes.
const MaxBody = 64 << 20

// maxSmallBody bounds the bodies of other requests, in bytes. Decoded, they can be many times as
// large.
const maxSmallBody = 4 << 20

// maxHeader bounds the header of a request, in bytes. http1 allows up to 4 KiB more.
const maxHeader = 16 << 10

// timeouts bound how long a client may keep the server waiting. All but the last may end up to a
// sixteenth late (http1). They are fields of a Server so that tests can change them.
type timeouts struct {
	header   time.Duration // for the header of a request
	read     time.Duration // for the whole request
	linger   time.Duration // for the rest of an unwanted body
	progress time.Duration // for flushSize bytes of a response
	idle     time.Duration // between two requests of a connection
	write    time.Duration // for the store to confirm a change; after it the outcome is unknown
	drain    time.Duration // for requests under way at a shutdown
}

var defaultTimeouts = timeouts{
	header:   5 * time.Second,
	read:     30 * time.Second,
	linger:   time.Second,
	progress: 60 * time.Second,
	idle:     60 * time.Second,
	write:    30 * time.Second,
	drain:    10 * time.Second,
}

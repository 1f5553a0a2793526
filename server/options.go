package server

import (
	"log/slog"
	"time"

	"colonnade/clock"
)

// Options says what a Server takes from outside. Only Now is required.
type Options struct {
	// Now is the clock: for the time that requests take, and for the deadlines
	// of connections, so it has to be near the machine's, and have a monotonic
	// reading.
	Now func() time.Time
	// Clock bounds how long a request waits for its turn. nil is clock.System.
	Clock clock.Clock
	// Seed decides how the times in Retry-After are spread.
	Seed uint64
	// Log gets what goes wrong on the server's side. nil is nowhere.
	Log *slog.Logger
	// Hosts are the names, besides localhost and any IP address, by which a
	// client may address a server that listens on a loopback address.
	Hosts []string
	// MaxBody is how many bytes the body of a write or of a read of rows may
	// have, before and after inflating. 0 is MaxBody.
	MaxBody int64
	// MaxInflight is how many bytes all bodies under way may have together.
	// Requests over it are answered 503. 0 is 256 MiB.
	MaxInflight int64
	// MaxConns is how many connections Serve keeps; one more is closed at once.
	// 0 is 4,096.
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

// MaxBody is how many bytes a body may have if the options do not say.
const MaxBody = 64 << 20

// maxSmallBody is how many bytes the bodies of other requests may have. What
// they are decoded into may be many times as large.
const maxSmallBody = 4 << 20

// maxHeader is how many bytes the header of a request may have, give or take
// the 4 KiB that http1 adds.
const maxHeader = 16 << 10

// timeouts are how long a client may keep the server waiting, and up to a sixteenth more
// of all but the last (http1). They are fields of a Server, not constants, for the tests.
type timeouts struct {
	header   time.Duration // for the header of a request
	read     time.Duration // for the whole request
	linger   time.Duration // for the rest of a body that is not wanted
	progress time.Duration // for flushSize bytes of an answer
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

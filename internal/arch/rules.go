package arch

// moduleRules draw the packages of this module:
//
//	cmd → {server, bigtable} → widecol ← lsmstore → engine → {wal, memtable, sstable, vfs}
//
// with cell below all of them, and client beside them: it knows the server by its API alone. The server
// does not know the engine, so that another Store can replace lsmstore. The formats know neither files nor
// each other, so that each can be read and tested alone.
var moduleRules = Rules{
	Module: "github.com/colonnade-db/colonnade",
	Packages: map[string]Rule{
		"cell": {},
		"clock": {Except: map[string]string{
			"time.Now":       "the clock of the machine is made here",
			"time.Since":     "the same",
			"time.AfterFunc": "the clock of the machine is made here",
		}},
		"vfs": {Except: map[string]string{
			"os":      "the operating system's files are opened here and nowhere else",
			"syscall": "the operating system's files are opened here and nowhere else",
		}},
		"wal":      {},
		"memtable": {Packages: []string{"cell", "internal/prefetch"}},
		"sstable": {
			Packages:  []string{"cell", "internal/cores", "internal/poison", "internal/prefetch"},
			Libraries: []string{"github.com/bits-and-blooms/bloom/v3", "github.com/cespare/xxhash/v2", "github.com/klauspost/compress"},
		},
		"sstable/blockcache": {
			Packages:  []string{"sstable"},
			Libraries: []string{"github.com/cespare/xxhash/v2", "github.com/maypok86/otter/v2"},
		},
		"engine": {
			Packages:  []string{"cell", "clock", "engine/compaction", "engine/manifest", "engine/rangedel", "engine/rowmerge", "internal/cores", "internal/poison", "memtable", "sstable", "sstable/blockcache", "vfs", "wal"},
			Libraries: []string{"github.com/cespare/xxhash/v2"},
			Except: map[string]string{
				"crypto/rand": "the identity of a new store, when Options.Rand gives none",
				"syscall":     "its error numbers tell a full disk from a broken one",
			},
		},
		"engine/compaction":            {Packages: []string{"engine/manifest"}},
		"engine/manifest":              {Packages: []string{"cell", "engine/rangedel"}, Libraries: []string{"github.com/cespare/xxhash/v2"}},
		"engine/manifest/manifesttest": {Packages: []string{"cell", "engine/manifest", "engine/rangedel"}},
		"engine/rangedel":              {},
		"engine/rowmerge":              {Packages: []string{"cell"}},

		"widecol":           {Packages: []string{"cell"}},
		"widecol/memstore":  {Packages: []string{"cell", "widecol"}},
		"widecol/rowfilter": {Packages: []string{"cell", "widecol"}},
		"widecol/storetest": {
			Packages: []string{"cell", "widecol", "widecol/memstore"},
			Except: map[string]string{
				"testing":  "the suite is called by tests",
				"time.Now": "it bounds how long a failed test looks for a shorter list of operations",
			},
		},
		"widecol/lsmstore": {
			Packages:  []string{"cell", "clock", "engine", "internal/poison", "keyspace", "vfs", "widecol", "widecol/lsmstore/grouping", "widecol/rowfilter"},
			Libraries: []string{"github.com/cespare/xxhash/v2", "golang.org/x/sync"},
			Except:    map[string]string{"crypto/rand": "the ids of locality groups, when the options give no randomness"},
		},
		"widecol/lsmstore/grouping": {},
		"keyspace":                  {Packages: []string{"widecol"}},
		"widecol/lsmstore/lsmtest": {
			Packages: []string{"clock", "engine", "vfs", "widecol", "widecol/lsmstore", "widecol/storetest"},
			Except:   map[string]string{"syscall": "the errors of its failing disk"},
		},
		"metrics": {Libraries: []string{"github.com/prometheus/client_golang"}},
		"metrics/storemetrics": {
			Packages:  []string{"engine", "metrics", "widecol/lsmstore"},
			Libraries: []string{"github.com/prometheus/client_golang"},
		},

		"tracing": {Libraries: []string{"go.opentelemetry.io/otel", "go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/trace", "go.opentelemetry.io/proto/slim/otlp", "google.golang.org/protobuf"}},

		"access":                      {},
		"console":                     {},
		"explain":                     {Packages: []string{"widecol"}},
		"quota":                       {Packages: []string{"access"}},
		"admission":                   {Packages: []string{"clock", "internal/cores"}},
		"server":                      {Packages: []string{"access", "admission", "cell", "clock", "explain", "internal/cores", "internal/poison", "metrics", "quota", "server/http1", "server/strictjson", "tracing", "widecol"}, Libraries: []string{"github.com/cespare/xxhash/v2", "github.com/klauspost/compress", "github.com/prometheus/client_golang", "github.com/rs/cors"}},
		"server/http1":                {Packages: []string{"clock", "internal/poison"}},
		"server/strictjson":           {},
		"server/strictjson/jsonsuite": {},

		// The second front end. Its messages are Google's.
		"bigtable": {
			Packages:  []string{"access", "admission", "cell", "clock", "explain", "internal/poison", "metrics", "quota", "tracing", "widecol"},
			Libraries: []string{"cloud.google.com/go/bigtable", "cloud.google.com/go/longrunning", "google.golang.org/genproto/googleapis/rpc", "google.golang.org/grpc", "google.golang.org/protobuf"},
		},

		// The store for programs that keep it in their own process. It brings nothing of the server along.
		".": {
			Packages: []string{"cell", "clock", "engine", "vfs", "widecol", "widecol/lsmstore"},
			Except: map[string]string{
				"os":            "the directory that a checkpoint is copied to, and the id of the process that has one open",
				"path/filepath": "the paths of the caller",
				"crypto/rand":   "the timeline of a checkpoint, which must not repeat in any process",
			},
		},

		// A program of another module uses it: it brings nothing of the store along.
		"client": {
			Packages:  []string{"internal/backoff", "internal/jsontext"},
			Libraries: []string{"github.com/klauspost/compress"},
			Except: map[string]string{
				"crypto/rand": "idempotency keys, which must not repeat in any process",
				"time.Until":  "a Retry-After with a date, and the deadline of a context",
			},
		},

		// It keeps files outside of a store. The engine reads and extends the log for it.
		"backup": {
			Packages:  []string{"clock", "engine", "engine/manifest", "vfs"},
			Libraries: []string{"filippo.io/age", "github.com/cespare/xxhash/v2", "github.com/klauspost/compress", "github.com/minio/minio-go/v7", "golang.org/x/sync"},
			Except: map[string]string{
				"os":            "the files of a repository, and of a store that is being restored and not open",
				"path/filepath": "the same",
			},
		},

		"examples":  {},
		"bench/":    {Free: true},
		"cmd/":      {Free: true},
		"internal/": {Free: true},
	},
	Imports: map[string]string{
		"os":             "files are opened through vfs, everything else comes in as an option",
		"os/exec":        "a store starts no processes",
		"os/signal":      "signals belong to the command",
		"os/user":        "what surrounds the process comes in as an option",
		"syscall":        "the operating system is met in vfs",
		"path/filepath":  "vfs speaks slash-separated paths, package path is for them",
		"flag":           "flags belong to the command",
		"log":            "it can end the process and has no levels: use the log/slog.Logger that comes in",
		"testing":        "tests belong into _test.go files",
		"crypto/rand":    "randomness comes in as an option, so that a test can repeat it",
		"expvar":         "state is not global",
		"net/http/pprof": "it registers itself globally",
	},
	Names: map[string]string{
		"time.Now":                   "time comes in as an option, so that a test decides on it",
		"time.Since":                 "it reads the clock of the machine",
		"time.Until":                 "it reads the clock of the machine",
		"time.Sleep":                 "waiting on the clock of the machine cannot be tested",
		"time.After":                 "waiting on the clock of the machine cannot be tested",
		"time.Tick":                  "waiting on the clock of the machine cannot be tested",
		"time.NewTimer":              "waiting on the clock of the machine cannot be tested",
		"time.NewTicker":             "waiting on the clock of the machine cannot be tested",
		"time.AfterFunc":             "waiting on the clock of the machine cannot be tested",
		"math/rand/v2.*":             "global randomness cannot be repeated: make a generator from a seed",
		"math/rand.*":                "global randomness cannot be repeated: make a generator from a seed",
		"log/slog.Default":           "the logger comes in as an option",
		"runtime/debug.SetGCPercent": "settings of the process belong to the command",
	},
}

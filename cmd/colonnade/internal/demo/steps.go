package demo

// step is a part of the walk: what it is about, and what is run.
type step struct {
	title string
	text  string
	run   []action
}

// action is a verb of the program, or a request that curl sends.
type action struct {
	verb []string // words behind colonnade
	post string   // the path of a POST, with body
	body string
}

func verb(words ...string) action { return action{verb: words} }

func post(path, body string) action { return action{post: path, body: body} }

func table(words ...string) action { return verb(append(words, "--output", "table")...) }

var steps = []step{
	{
		title: "Tables",
		text: `Three tables are loaded. webtable has some web pages, a row each. metrics has a day of made-up
metrics; metrics_flat has the same, stored in another way.

A table has rows, sorted by key. A row has cells, each in a column: a family, which is made beforehand,
and a qualifier, which comes with the cell.`,
		run: []action{table("tables"), table("describe", "webtable")},
	},
	{
		title: "A row, and its versions",
		text: `A cell keeps versions, each with a time, newest first. This page was fetched twice: its contents have
two versions. The qualifier of title: and contents: is empty.`,
		run: []action{table("get", "webtable", "net.example.weather/river", "title", "contents")},
	},
	{
		title: "Keys decide what lies together",
		text: `The keys are reversed domains, so the pages of a site are neighbours, and one scan of a prefix reads
them. There is no other index: choose keys by what you will read.`,
		run: []action{table("scan", "webtable", "--prefix", "org.example.museum/", "--column", "title:")},
	},
	{
		title: "Qualifiers are data",
		text: `Who links to a page is in the family anchor: the qualifier is the page that links, the value its words.
A row may have millions of such columns. They are sorted, too, so a prefix selects some of them.

The shell has no word for that; the API has. All that the program does goes through it.`,
		run: []action{post("/v1/table/webtable/scan", `{"row": {"prefix": "", "limit": 2}, "column": {"prefix": "anchor:com.example.news/"}}`)},
	},
	{
		title: "Writing",
		text: `put writes cells of a row, all or none, and answers when no crash can undo it. Types are kept: i64:1 is
a number, and incr adds to it. A write with another time than now gives a cell another version.`,
		run: []action{
			table("put", "webtable", "example.bakery/", "title:", "The Bakery at the Bridge", "meta:visits", "i64:1"),
			table("incr", "webtable", "example.bakery/", "meta:visits"),
			table("get", "webtable", "example.bakery/", "title", "meta:visits"),
		},
	},
	{
		title: "Changing only what you know",
		text: `cas writes the new value if the newest version is the old one: of two who change a cell at the same
time, one is told. With --absent it takes a name that nobody has.`,
		run: []action{
			table("cas", "webtable", "example.bakery/", "title:", "The Bakery at the Bridge", "Bakery, closed on Mondays"),
			table("get", "webtable", "example.bakery/", "title"),
		},
	},
	{
		title: "Versions and age are limited by family",
		text: `A rule says what is garbage: here all versions of contents but the newest. --dry-run counts what would
go. Reads obey at once, compactions free the space later. ttl=30d would go by age.`,
		run: []action{
			table("families", "set", "webtable", "contents:versions=1", "--dry-run"),
			table("families", "set", "webtable", "contents:versions=1"),
			table("get", "webtable", "net.example.weather/river", "contents"),
		},
	},
	{
		title: "A design for time series",
		text: `A row of metrics is an hour of a series on a host: cpu#web1#2026-09-18T07. Its samples are columns of
the family minute, and its minimum, maximum and average are in the family hour.

The series and the host come first, so that a chart is one scan of a prefix, and hosts do not all write
to the end of the table. An hour a row: rows stay small, and their number, too. A key that began with
the time would put all writes of a moment into one place.`,
		run: []action{table("scan", "metrics", "--prefix", "cpu#web1#2026-09-18T0", "--column", "hour", "--limit", "4")},
	},
	{
		title: "Locality groups: the same answer for less",
		text: `In metrics the family hour has a locality group: it is stored apart. In metrics_flat it shares a place
with minute, twenty times its size. Compare bytes_scanned: the result is the same, the cost is not.
A write across groups stays atomic, and a family can move later, while it is used.`,
		run: []action{
			table("describe", "metrics"),
			post("/v1/table/metrics/count", `{"row": {"prefix": ""}, "column": {"key": "hour:"}}`),
			post("/v1/table/metrics_flat/count", `{"row": {"prefix": ""}, "column": {"key": "hour:"}}`),
		},
	},
	{
		title: "Explain",
		text: `Any read can say what it cost and why: partitions and files read, what was left out without reading it
(pushed_down), what was read and dropped. Here the partition of the group is the only one. The console
draws this.`,
		run: []action{post("/v1/table/metrics/scan", `{"row": {"prefix": "cpu#web1#"}, "column": {"key": "hour:max"}, "explain": "only"}`)},
	},
	{
		title: "Advice",
		text: `The server counts what queries read against what they stepped over, and says which family should have a
group. The two counts above are enough for that.`,
		run: []action{table("advise", "metrics_flat")},
	},
	{
		title: "Aggregates",
		text: `Counting, adding up, and the extremes are worked out where the data is, here for each host: the
first 8 bytes of a row key say in which group it is.`,
		run: []action{post("/v1/table/metrics/aggregate", `{"row": {"prefix": "cpu#web"}, "column": {"prefix": "minute:"}, "of": ["count", "avg", "max"], "group_by": {"row_prefix": 8}}`)},
	},
}

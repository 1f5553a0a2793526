package widecol

import (
	"fmt"
	"math"

	"github.com/colonnade-db/colonnade/cell"
)

// Limits of names and keys, in bytes. They are part of the data model: every Store enforces them.
const (
	MaxName      = 200
	MaxRowKey    = 4096
	MaxQualifier = 16384
	// MaxValue is the largest value that every Store accepts by default. Stores may be configured
	// lower.
	MaxValue = 16 << 20
)

// GC decides which versions of a family's cells are garbage; see cell.GC.
type GC = cell.GC

// MaxTTLSecs is the largest TTLSecs: its microseconds still fit in a time.
const MaxTTLSecs = math.MaxInt64 / 1_000_000

// CheckGC returns an error for a setting that is out of range.
func CheckGC(g GC) error {
	switch {
	case g.TTLSecs < 0 || g.TTLSecs > MaxTTLSecs:
		return Errorf(Invalid, "invalid_gc_settings", "ttl_secs must be from 1 to %d, or null", int64(MaxTTLSecs))
	case g.VersionLimit < 0:
		return Errorf(Invalid, "invalid_gc_settings", "version_limit must be at least 1, or null")
	case g.Intersection && (g.TTLSecs == 0 || g.VersionLimit == 0):
		return Errorf(Invalid, "invalid_gc_settings", "mode \"intersection\" needs both ttl_secs and version_limit")
	}
	return nil
}

// Family is a column family.
type Family struct {
	Name string
	GC   GC
	// Inherit, when a family is created, gives it the table's default settings in place of GC.
	Inherit bool
	// Merge stays as the family was created with it.
	Merge MergeOperator
	// Annotation is what a front end keeps with the family, at most MaxAnnotation bytes. A Store does not look at it.
	Annotation string
}

// MaxAnnotation bounds Family.Annotation, in bytes.
const MaxAnnotation = 4096

// FamilyChange says what of a family changes; nil for what does not.
type FamilyChange struct {
	GC         *GC
	Annotation *string
}

// ChangeGC is the change of a family's GC.
func ChangeGC(gc GC) FamilyChange { return FamilyChange{GC: &gc} }

// Apply changes f. It fails for settings that are out of range.
func (c *FamilyChange) Apply(f *Family) error {
	if c.GC != nil {
		f.GC = *c.GC
	}
	if c.Annotation != nil {
		f.Annotation = *c.Annotation
	}
	return f.check()
}

// check returns an error for settings that are out of range.
func (f *Family) check() error {
	switch {
	case f.Merge > MergeMax:
		return Errorf(Invalid, "invalid_merge_operator", "%v is unknown", f.Merge)
	case len(f.Annotation) > MaxAnnotation:
		return Errorf(TooLarge, "annotation_too_large", "the annotation of family %s has %d bytes, allowed are %d", quote(f.Name), len(f.Annotation), MaxAnnotation)
	}
	return CheckGC(f.GC)
}

// TableSettings are the settings of a table.
type TableSettings struct {
	// Protected has DropTable and DropFamily fail with the code deletion_protected.
	Protected bool
	// DefaultGC is for families created with Inherit.
	DefaultGC GC
}

// TableChange says which settings of a table change; nil for those that do not.
type TableChange struct {
	Protected *bool
	DefaultGC *GC
}

// Apply returns the settings after the change. It fails for settings that are out of range.
func (c *TableChange) Apply(s TableSettings) (TableSettings, error) {
	if c.Protected != nil {
		s.Protected = *c.Protected
	}
	if c.DefaultGC != nil {
		s.DefaultGC = *c.DefaultGC
	}
	return s, CheckGC(s.DefaultGC)
}

// DeletionProtected returns the error for dropping a protected table, or a family of it.
func DeletionProtected(table string) *Error {
	return Errorf(Conflict, "deletion_protected", "table %s is protected from deletion: set deletion_protection to false first", quote(table))
}

// Group is a locality group: families that share a partition of their own.
type Group struct {
	ID       string // assigned by the Store
	Families []string
}

// NewGroup, as a place for MoveFamily, is a new locality group. No group has it as its ID.
const NewGroup = "new"

// Move is a family with its place, and how far it is on its way there. A place is the ID of a locality group, ""
// for the default partition.
type Move struct {
	Family   string
	To, From string // the same if it does not move
	// What has moved since the move began, or since the Store was opened.
	Rows, Cells int64
	Bytes       int64 // of row keys, column keys, times and values
	Err         error // why it does not get on at present, nil if it does
}

// Moving reports whether the family still has cells to move.
func (m *Move) Moving() bool { return m.To != m.From }

// Partition is one sorted map on disk. Stores without partitions report the ones that the data model
// implies.
type Partition struct {
	Name  string // _man_<table>, _dat_<table> or _lg_<group id>
	Path  string // where it is stored
	Stats PartitionStats
}

// PartitionStats describes the state of a partition.
type PartitionStats struct {
	Levels        []LevelStats
	Cells         uint64 // entries in files, tombstones included
	DiskBytes     int64
	MemtableBytes int64
	// Compacting is that all of the partition is to be compacted and that this has not ended: Store.Compact.
	// CompactionLeft is the bytes of the files that are left of it.
	Compacting     bool
	CompactionLeft int64
	Err            error // damage or failure that stops part of its work; nil in health
}

// LevelStats describes one level of a partition's files.
type LevelStats struct {
	Files int
	Bytes int64
}

// Table describes a table. Families and moves are sorted by name, groups by ID,
// partitions: manifest, default data, then groups. A family that moves is in the group that it moves to. A group
// that its last family is leaving has no families.
type Table struct {
	Name       string
	Settings   TableSettings
	Families   []Family
	Groups     []Group
	Moves      []Move // the families that move
	Partitions []Partition
	DiskBytes  int64
}

// TableSpec says how to create a table.
type TableSpec struct {
	Families []Family
	Groups   [][]string // names of Families, each at most once; the rest go to the default partition
}

// CheckTableName returns an error if name cannot name a table.
func CheckTableName(name string) error {
	if err := checkName("table", name); err != nil {
		return err
	}
	if name[0] == '_' {
		return Errorf(Invalid, "invalid_table_name", "table name %q starts with _, which is kept for the service", name)
	}
	return nil
}

// CheckFamilyName returns an error if name cannot name a column family.
func CheckFamilyName(name string) error { return checkName("column family", name) }

func checkName(what, name string) error {
	code := "invalid_table_name"
	if what != "table" {
		code = "invalid_column_family_name"
	}
	if len(name) == 0 || len(name) > MaxName {
		return Errorf(Invalid, code, "%s name has %d bytes, allowed are 1 to %d", what, len(name), MaxName)
	}
	for i := 0; i < len(name); i++ {
		if !nameByte(name[i]) {
			return Errorf(Invalid, code, "%s name %s has a character outside A-Z a-z 0-9 _ . # $ -", what, quote(name))
		}
	}
	return nil
}

func nameByte(b byte) bool {
	switch {
	case b >= 'A' && b <= 'Z', b >= 'a' && b <= 'z', b >= '0' && b <= '9':
		return true
	}
	return b == '_' || b == '.' || b == '#' || b == '$' || b == '-'
}

// quote quotes and shortens client input for error messages and log lines.
func quote(s string) string {
	if len(s) > 64 {
		return fmt.Sprintf("%q…", s[:64])
	}
	return fmt.Sprintf("%q", s)
}

// Check returns an error if no table can be created like this. The error's index is that of the family.
func (s TableSpec) Check() error {
	seen := make(map[string]bool) // family name -> already in a group
	for i, f := range s.Families {
		if err := CheckFamilyName(f.Name); err != nil {
			return at(err, i)
		}
		if err := f.check(); err != nil {
			return at(err, i)
		}
		if _, twice := seen[f.Name]; twice {
			return Errorf(Invalid, "duplicate_column_family", "column family %q is listed twice", f.Name).At(i)
		}
		seen[f.Name] = false
	}
	for _, g := range s.Groups {
		if len(g) == 0 {
			return Errorf(Invalid, "invalid_locality_group", "a locality group needs at least one column family")
		}
		for _, name := range g {
			grouped, known := seen[name]
			if !known {
				return Errorf(Invalid, "invalid_locality_group", "locality group names column family %s, which is not listed in column_families", quote(name))
			}
			if grouped {
				return Errorf(Invalid, "invalid_locality_group", "column family %q is in two locality groups", name)
			}
			seen[name] = true
		}
	}
	return nil
}

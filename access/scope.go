package access

import "fmt"

// Scope is what a token may do. Each scope includes those before it.
type Scope uint8

const (
	None  Scope = iota // what everybody may do
	Read               // read rows, and what tables there are
	Write              // change rows
	Admin              // create, change and delete tables and column families
)

var scopeNames = [...]string{None: "none", Read: "read", Write: "write", Admin: "admin"}

func (s Scope) String() string { return scopeNames[s] }

// ParseScope returns the scope of a name that a token can have.
func ParseScope(name string) (Scope, error) {
	for s := Read; s <= Admin; s++ {
		if scopeNames[s] == name {
			return s, nil
		}
	}
	return None, fmt.Errorf("scope %q is none of read, write and admin", name)
}

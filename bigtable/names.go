package bigtable

import (
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/colonnade-db/colonnade/widecol"
)

// DefaultInstance is the instance whose tables have the names that the Store knows them by.
const DefaultInstance = "projects/colonnade/instances/colonnade"

// instance is the name of an instance, projects/P/instances/I. Every project and every instance exists: an instance is
// a name space of tables.
type instance struct{ project, id string }

func (i instance) String() string { return "projects/" + i.project + "/instances/" + i.id }

// cluster is the name of the one cluster of the instance.
func (i instance) cluster() string { return i.String() + "/clusters/" + clusterID }

const clusterID = "colonnade"

// separator stands between project, instance and table in a table of the Store. No part of a name of the protocol has
// it, so no two names become one.
const separator = "$"

// ParseInstance returns an error unless name is that of an instance.
func ParseInstance(name string) error {
	_, err := parseInstance(name)
	return err
}

func parseInstance(name string) (i instance, err error) {
	parts := strings.Split(name, "/")
	if len(parts) != 4 || parts[0] != "projects" || parts[2] != "instances" || !plain(parts[1]) || !plain(parts[3]) {
		return i, status.Errorf(codes.InvalidArgument, "%q is no name of an instance: projects/PROJECT/instances/INSTANCE", name)
	}
	return instance{parts[1], parts[3]}, nil
}

// plain reports whether a part of a name can be one.
func plain(part string) bool {
	return part != "" && part != "-" && !strings.ContainsAny(part, separator+"/ ")
}

// tableName is the name of a table, projects/P/instances/I/tables/T.
type tableName struct {
	instance
	id string
}

func (t tableName) String() string { return t.instance.String() + "/tables/" + t.id }

func parseTable(name string) (t tableName, err error) {
	if i := strings.LastIndex(name, "/tables/"); i >= 0 && plain(name[i+len("/tables/"):]) {
		t.id = name[i+len("/tables/"):]
		if t.instance, err = parseInstance(name[:i]); err == nil {
			return t, nil
		}
	}
	return t, status.Errorf(codes.InvalidArgument, "%q is no name of a table: projects/PROJECT/instances/INSTANCE/tables/TABLE", name)
}

// stored returns the name of the table in the Store.
func (s *Server) stored(t tableName) string {
	if t.instance == s.home {
		return t.id
	}
	return strings.Join([]string{t.project, t.instance.id, t.id}, separator)
}

// shown returns the name that a table of the Store has in an instance. ok is false if it is not there.
func (s *Server) shown(i instance, stored string) (t tableName, ok bool) {
	id := stored
	if i != s.home {
		if id, ok = strings.CutPrefix(stored, i.project+separator+i.id+separator); !ok {
			return t, false
		}
	}
	return tableName{i, id}, plain(id)
}

// table returns the table of the Store that a request is about.
func (s *Server) table(name string) (string, error) {
	t, err := parseTable(name)
	if err != nil {
		return "", err
	}
	stored := s.stored(t)
	if err := widecol.CheckTableName(stored); err != nil {
		return "", statusOf(err)
	}
	return stored, nil
}

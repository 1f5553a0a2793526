package bigtable

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/colonnade-db/colonnade/access"
)

// guarded is a harness with access control.
type guarded struct {
	*harness
	control *access.Control
	source  *rand.ChaCha8
}

// newGuarded returns a harness that allows some failures in a minute, 0 for any number.
func newGuarded(t *testing.T, perMinute int) *guarded {
	g := &guarded{harness: withTable(t), control: access.NewControl(new(access.Tokens), perMinute), source: rand.NewChaCha8([32]byte{})}
	g.serve(Options{Access: g.control})
	return g
}

// token adds a token, and returns a context of its sender.
func (g *guarded) token(scope access.Scope, expires time.Time, tables ...string) context.Context {
	g.Helper()
	token, secret, err := access.NewToken(g.source, access.Token{Scope: scope, Tables: tables, Created: time.UnixMicro(0), Expires: expires})
	g.ok(err)
	tokens, err := g.control.Tokens().With(token)
	g.ok(err)
	g.control.SetTokens(tokens)
	return g.as("Bearer " + secret)
}

func (g *guarded) as(authorization string) context.Context {
	return metadata.AppendToOutgoingContext(g.ctx, "authorization", authorization)
}

// neededScope is the scope that each call about a table needs. It says so again, beside the calls.
var neededScope = map[string]access.Scope{
	"ReadRows": access.Read, "SampleRowKeys": access.Read, "GetTable": access.Read, "GenerateConsistencyToken": access.Read, "CheckConsistency": access.Read,
	"MutateRow": access.Write, "MutateRows": access.Write, "CheckAndMutateRow": access.Write, "ReadModifyWriteRow": access.Write,
	"DropRowRange": access.Admin, "UpdateTable": access.Admin, "ModifyColumnFamilies": access.Admin, "DeleteTable": access.Admin,
}

// TestAccess sends each call with each kind of token.
func TestAccess(t *testing.T) {
	g := newGuarded(t, 0)
	for call, do := range calls {
		need := neededScope[call]
		if need == access.None {
			t.Errorf("%s: say in this test which scope it needs", call)
		}
		g.fails(call, do(g.harness, g.ctx, testTable), codes.Unauthenticated, "this server needs a token")
		g.fails(call, do(g.harness, g.as("Basic xyz"), testTable), codes.Unauthenticated, "this server needs a token")
		g.fails(call, do(g.harness, g.as("Bearer xyz"), testTable), codes.Unauthenticated, "the token is not valid")
		expired := g.token(access.Admin, time.UnixMicro(g.clock.Now()).Add(-time.Second), "*")
		g.fails(call, do(g.harness, expired, testTable), codes.Unauthenticated, "expired")
		for scope := access.Read; scope <= access.Admin; scope++ {
			g.fails(call, do(g.harness, g.token(scope, time.Time{}, "other", "p$j$*"), testTable), codes.PermissionDenied, `of scope `+need.String()+` for table "p$i$t"; token `)
			for _, pattern := range []string{"*", "p$i$*", "p$i$t"} {
				err := do(g.harness, g.token(scope, time.Time{}, pattern), testTable)
				if scope < need {
					g.fails(call, err, codes.PermissionDenied, `this needs a token of scope `+need.String())
				} else if err != nil {
					t.Errorf("%s with scope %s for %s: %v", call, scope, pattern, err)
				}
				if call == "DeleteTable" && err == nil {
					g.serve(Options{})
					g.createTable()
					g.serve(Options{Access: g.control})
				}
			}
		}
	}
}

// TestAccessToLists: a list has what its sender may see.
func TestAccessToLists(t *testing.T) {
	g := newGuarded(t, 0)
	list := func(ctx context.Context) (int, int) {
		tables, err := g.admin.ListTables(ctx, &adminpb.ListTablesRequest{Parent: testInstance})
		g.ok(err)
		instances, err := g.inst.ListInstances(ctx, &adminpb.ListInstancesRequest{Parent: "projects/p"})
		g.ok(err)
		return len(tables.Tables), len(instances.Instances)
	}
	for pattern, want := range map[string]int{"*": 1, "p$i$*": 1, "other": 0} {
		if tables, instances := list(g.token(access.Read, time.Time{}, pattern)); tables != want || instances != want {
			t.Errorf("%s sees %d tables and %d instances", pattern, tables, instances)
		}
	}
	_, err := g.admin.ListTables(g.ctx, &adminpb.ListTablesRequest{Parent: testInstance})
	g.fails("ListTables", err, codes.Unauthenticated, "needs a token")
	_, err = g.inst.ListInstances(g.ctx, &adminpb.ListInstancesRequest{Parent: "projects/p"})
	g.fails("ListInstances", err, codes.Unauthenticated, "needs a token")
}

// TestAccessToInstances: looking one up needs a token, changing one needs one for all tables.
func TestAccessToInstances(t *testing.T) {
	g := newGuarded(t, 0)
	look := map[string]func(ctx context.Context) error{
		"GetInstance": func(ctx context.Context) error {
			_, err := g.inst.GetInstance(ctx, &adminpb.GetInstanceRequest{Name: testInstance})
			return err
		},
		"GetCluster": func(ctx context.Context) error {
			_, err := g.inst.GetCluster(ctx, &adminpb.GetClusterRequest{Name: testInstance + "/clusters/" + clusterID})
			return err
		},
		"ListClusters": func(ctx context.Context) error {
			_, err := g.inst.ListClusters(ctx, &adminpb.ListClustersRequest{Parent: testInstance})
			return err
		},
		"ListClusters of all": func(ctx context.Context) error {
			_, err := g.inst.ListClusters(ctx, &adminpb.ListClustersRequest{Parent: "projects/p/instances/-"})
			return err
		},
		"GetAppProfile": func(ctx context.Context) error {
			_, err := g.inst.GetAppProfile(ctx, &adminpb.GetAppProfileRequest{Name: testInstance + "/appProfiles/default"})
			return err
		},
		"ListAppProfiles": func(ctx context.Context) error {
			_, err := g.inst.ListAppProfiles(ctx, &adminpb.ListAppProfilesRequest{Parent: testInstance})
			return err
		},
		"PingAndWarm": func(ctx context.Context) error {
			_, err := g.data.PingAndWarm(ctx, &btpb.PingAndWarmRequest{Name: testInstance})
			return err
		},
	}
	read := g.token(access.Read, time.Time{}, "other")
	for call, do := range look {
		g.fails(call, do(g.ctx), codes.Unauthenticated, "needs a token")
		if err := do(read); err != nil {
			t.Errorf("%s: %v", call, err)
		}
	}
	change := map[string]func(ctx context.Context) error{
		"CreateInstance": func(ctx context.Context) error {
			_, err := g.inst.CreateInstance(ctx, &adminpb.CreateInstanceRequest{Parent: "projects/p", InstanceId: "new"})
			return err
		},
		"DeleteInstance": func(ctx context.Context) error {
			_, err := g.inst.DeleteInstance(ctx, &adminpb.DeleteInstanceRequest{Name: testInstance})
			return err
		},
	}
	write, some, all := g.token(access.Write, time.Time{}, "*"), g.token(access.Admin, time.Time{}, "p$i$*"), g.token(access.Admin, time.Time{}, "*")
	for call, do := range change {
		g.fails(call, do(g.ctx), codes.Unauthenticated, "needs a token")
		g.fails(call, do(write), codes.PermissionDenied, "this needs a token of scope admin for all tables")
		g.fails(call, do(some), codes.PermissionDenied, "this needs a token of scope admin for all tables")
		if err := do(all); err != nil {
			t.Errorf("%s: %v", call, err)
		}
	}
	_, err := g.admin.CreateTable(some, &adminpb.CreateTableRequest{Parent: "projects/p/instances/j", TableId: "t"})
	g.fails("CreateTable", err, codes.PermissionDenied, `for table "p$j$t"`)
	_, err = g.admin.CreateTable(some, &adminpb.CreateTableRequest{Parent: testInstance, TableId: "t"})
	g.ok(err)
}

// TestTooManyFailures: who tries tokens is told when to try again.
func TestTooManyFailures(t *testing.T) {
	g := newGuarded(t, 20)
	var err error
	for range 30 {
		if err = calls["GetTable"](g.harness, g.as("Bearer guess"), testTable); status.Code(err) != codes.Unauthenticated {
			break
		}
	}
	g.fails("the last one", err, codes.Unavailable, "too many requests from this address")
	if got := retryDelay(err); got <= 0 || got > time.Minute {
		t.Errorf("try again in %v", got)
	}
	g.ok(calls["GetTable"](g.harness, g.token(access.Read, time.Time{}, "*"), testTable))
}

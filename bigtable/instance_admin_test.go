package bigtable

import (
	"strings"
	"testing"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
)

// TestInstanceAdmin: a client that creates or looks up an instance, a cluster or an app profile goes on.
func TestInstanceAdmin(t *testing.T) {
	h := withTable(t)
	for _, name := range []string{testInstance, DefaultInstance, "projects/never/instances/seen"} {
		i, err := h.inst.GetInstance(h.ctx, &adminpb.GetInstanceRequest{Name: name})
		h.ok(err)
		if i.Name != name || i.State != adminpb.Instance_READY {
			t.Errorf("%s: got %v", name, i)
		}
		clusters, err := h.inst.ListClusters(h.ctx, &adminpb.ListClustersRequest{Parent: name})
		h.ok(err)
		if len(clusters.Clusters) != 1 {
			t.Fatalf("%s: got %v", name, clusters)
		}
		cluster, err := h.inst.GetCluster(h.ctx, &adminpb.GetClusterRequest{Name: clusters.Clusters[0].Name})
		h.ok(err)
		h.is(name, cluster, clusters.Clusters[0])
		profiles, err := h.inst.ListAppProfiles(h.ctx, &adminpb.ListAppProfilesRequest{Parent: name})
		h.ok(err)
		profile, err := h.inst.GetAppProfile(h.ctx, &adminpb.GetAppProfileRequest{Name: name + "/appProfiles/default"})
		h.ok(err)
		h.is(name, profile, profiles.AppProfiles[0])
		_, err = h.data.PingAndWarm(h.ctx, &btpb.PingAndWarmRequest{Name: name})
		h.ok(err)
	}
	clusters, err := h.inst.ListClusters(h.ctx, &adminpb.ListClustersRequest{Parent: "projects/p/instances/-"})
	if err != nil || len(clusters.Clusters) != 1 || clusters.Clusters[0].Name != testInstance+"/clusters/colonnade" {
		t.Errorf("clusters of all instances: got %v, %v", clusters, err)
	}
	clusters, err = h.inst.ListClusters(h.ctx, &adminpb.ListClustersRequest{Parent: "projects/none/instances/-"})
	if err != nil || len(clusters.Clusters) != 0 {
		t.Errorf("clusters of no instances: got %v, %v", clusters, err)
	}
	op, err := h.inst.CreateInstance(h.ctx, &adminpb.CreateInstanceRequest{Parent: "projects/p", InstanceId: "new", Instance: &adminpb.Instance{DisplayName: "New"}})
	h.ok(err)
	got := new(adminpb.Instance)
	if !op.Done || op.GetResponse().UnmarshalTo(got) != nil || got.Name != "projects/p/instances/new" || got.DisplayName != "New" {
		t.Errorf("got %v", op)
	}
}

func TestInstanceAdminRefused(t *testing.T) {
	h := newHarness(t, Options{})
	_, err := h.inst.GetInstance(h.ctx, &adminpb.GetInstanceRequest{Name: "i"})
	h.fails("GetInstance", err, codes.InvalidArgument, `"i" is no name of an instance: projects/PROJECT/instances/INSTANCE`)
	_, err = h.inst.CreateInstance(h.ctx, &adminpb.CreateInstanceRequest{Parent: "projects/p", InstanceId: "a b"})
	h.fails("CreateInstance", err, codes.InvalidArgument, `"projects/p/instances/a b" is no name of an instance`)
	_, err = h.inst.ListInstances(h.ctx, &adminpb.ListInstancesRequest{Parent: "p"})
	h.fails("ListInstances", err, codes.InvalidArgument, `parent: "p" is no name of a project: projects/PROJECT`)
	_, err = h.inst.GetCluster(h.ctx, &adminpb.GetClusterRequest{Name: testInstance + "/clusters/other"})
	h.fails("GetCluster", err, codes.NotFound, "the only one is "+testInstance+"/clusters/colonnade")
	_, err = h.inst.ListClusters(h.ctx, &adminpb.ListClustersRequest{Parent: "p"})
	h.fails("ListClusters", err, codes.InvalidArgument, `"p" is no name of an instance`)
	_, err = h.inst.GetAppProfile(h.ctx, &adminpb.GetAppProfileRequest{Name: testInstance + "/appProfiles/other"})
	h.fails("GetAppProfile", err, codes.NotFound, "the only one is default")
	_, err = h.inst.ListAppProfiles(h.ctx, &adminpb.ListAppProfilesRequest{Parent: "p"})
	h.fails("ListAppProfiles", err, codes.InvalidArgument, `"p" is no name of an instance`)
	_, err = h.inst.DeleteInstance(h.ctx, &adminpb.DeleteInstanceRequest{Name: DefaultInstance})
	h.fails("DeleteInstance", err, codes.FailedPrecondition, DefaultInstance+" cannot be deleted")
	_, err = h.inst.DeleteInstance(h.ctx, &adminpb.DeleteInstanceRequest{Name: "p"})
	h.fails("DeleteInstance", err, codes.InvalidArgument, `"p" is no name of an instance`)
	_, err = h.inst.CreateCluster(h.ctx, &adminpb.CreateClusterRequest{Parent: testInstance})
	h.fails("CreateCluster", err, codes.Unimplemented, "")
	_, err = h.data.PingAndWarm(h.ctx, &btpb.PingAndWarmRequest{Name: "p"})
	h.fails("PingAndWarm", err, codes.InvalidArgument, `"p" is no name of an instance`)
	_, err = h.data.PrepareQuery(h.ctx, &btpb.PrepareQueryRequest{})
	h.fails("PrepareQuery", err, codes.Unimplemented, "")
}

// TestListInstances: instances are those that have tables, and the default one. Deleting one deletes its tables.
func TestListInstances(t *testing.T) {
	h := newHarness(t, Options{})
	for _, name := range []string{"projects/p/instances/a/t", "projects/p/instances/b/t", "projects/p/instances/b/u", "projects/q/instances/c/t", "projects/colonnade/instances/d/t", DefaultInstance + "/t"} {
		i := strings.LastIndexByte(name, '/')
		_, err := h.admin.CreateTable(h.ctx, &adminpb.CreateTableRequest{Parent: name[:i], TableId: name[i+1:]})
		h.ok(err)
	}
	list := func(project string) string {
		h.Helper()
		got, err := h.inst.ListInstances(h.ctx, &adminpb.ListInstancesRequest{Parent: "projects/" + project})
		h.ok(err)
		var names []string
		for _, i := range got.Instances {
			names = append(names, i.Name)
		}
		return lines(names...)
	}
	h.same("p", list("p"), "projects/p/instances/a\nprojects/p/instances/b")
	h.same("q", list("q"), "projects/q/instances/c")
	h.same("none", list("none"), "")
	h.same("home", list("colonnade"), DefaultInstance+"\nprojects/colonnade/instances/d")
	_, err := h.inst.DeleteInstance(h.ctx, &adminpb.DeleteInstanceRequest{Name: "projects/p/instances/b"})
	h.ok(err)
	h.same("p", list("p"), "projects/p/instances/a")
	h.same("tables of b", h.tableNames(&adminpb.ListTablesRequest{Parent: "projects/p/instances/b"}), "")
	h.same("tables of a", h.tableNames(&adminpb.ListTablesRequest{Parent: "projects/p/instances/a"}), "projects/p/instances/a/tables/t")
	h.same("default tables", h.tableNames(&adminpb.ListTablesRequest{Parent: DefaultInstance}), DefaultInstance+"/tables/t")
}

// TestServices: the health and reflection services are there.
func TestServices(t *testing.T) {
	h := newHarness(t, Options{})
	status, err := healthpb.NewHealthClient(h.conn).Check(h.ctx, new(healthpb.HealthCheckRequest))
	if err != nil || status.Status != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("got %v, %v", status, err)
	}
	stream, err := reflectionpb.NewServerReflectionClient(h.conn).ServerReflectionInfo(h.ctx)
	h.ok(err)
	h.ok(stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}))
	m, err := stream.Recv()
	h.ok(err)
	var names []string
	for _, s := range m.GetListServicesResponse().GetService() {
		names = append(names, s.Name)
	}
	h.same("services", lines(names...), lines(
		"google.bigtable.admin.v2.BigtableInstanceAdmin", "google.bigtable.admin.v2.BigtableTableAdmin", "google.bigtable.v2.Bigtable",
		"google.longrunning.Operations", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"))
}

// TestHealthOfDrain: a server that stops is not serving any more, also for who has asked before to be told.
func TestHealthOfDrain(t *testing.T) {
	h := newHarness(t, Options{})
	control := h.limited(1)
	h.serve(Options{Admission: control})
	health := healthpb.NewHealthClient(h.conn)
	watch, err := health.Watch(h.ctx, new(healthpb.HealthCheckRequest))
	h.ok(err)
	told, err := watch.Recv()
	if err != nil || told.Status != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("before: %v, %v", told, err)
	}
	if !control.Enter() {
		t.Fatal("it does not begin open")
	}
	defer control.Leave() // a request that is under way for all of the test
	control.Drain()
	now, err := health.Check(h.ctx, new(healthpb.HealthCheckRequest))
	if err != nil || now.Status != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Fatalf("while it drains: %v, %v", now, err)
	}
	told, err = watch.Recv()
	if err != nil || told.Status != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("who watches is told %v, %v", told, err)
	}
}

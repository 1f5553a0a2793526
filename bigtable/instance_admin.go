package bigtable

import (
	"context"
	"strings"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	longrunningpb "cloud.google.com/go/longrunning/autogen/longrunningpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/widecol"
)

// instanceAdmin is the service for instances and clusters. Every instance exists, with one cluster and one app profile.
type instanceAdmin struct {
	adminpb.UnimplementedBigtableInstanceAdminServer
	*Server
}

// done returns an operation that has ended with a result.
func (s *Server) done(result, metadata proto.Message) (*longrunningpb.Operation, error) {
	response, err := anypb.New(result)
	if err != nil {
		return nil, statusOf(err)
	}
	about, err := anypb.New(metadata)
	if err != nil {
		return nil, statusOf(err)
	}
	return &longrunningpb.Operation{Name: "operations/done", Metadata: about, Done: true, Result: &longrunningpb.Operation_Response{Response: response}}, nil
}

func instanceMessage(i instance) *adminpb.Instance {
	return &adminpb.Instance{Name: i.String(), DisplayName: i.id, State: adminpb.Instance_READY, Type: adminpb.Instance_PRODUCTION}
}

func clusterMessage(i instance) *adminpb.Cluster {
	return &adminpb.Cluster{
		Name: i.cluster(), Location: "projects/" + i.project + "/locations/local", State: adminpb.Cluster_READY,
		ServeNodes: 1, DefaultStorageType: adminpb.StorageType_SSD,
	}
}

// CreateInstance returns the instance, which exists.
func (s *instanceAdmin) CreateInstance(ctx context.Context, r *adminpb.CreateInstanceRequest) (*longrunningpb.Operation, error) {
	if err := s.authorize(ctx, access.Admin, ""); err != nil {
		return nil, err
	}
	i, err := parseInstance(r.Parent + "/instances/" + r.InstanceId)
	if err != nil {
		return nil, err
	}
	m := instanceMessage(i)
	if name := r.GetInstance().GetDisplayName(); name != "" {
		m.DisplayName = name
	}
	return s.done(m, &adminpb.CreateInstanceMetadata{OriginalRequest: r})
}

// GetInstance describes an instance.
func (s *instanceAdmin) GetInstance(ctx context.Context, r *adminpb.GetInstanceRequest) (*adminpb.Instance, error) {
	i, err := parseInstance(r.Name)
	if err != nil {
		return nil, err
	}
	return instanceMessage(i), nil
}

// ListInstances lists the instances of a project that have tables, and the one whose tables have plain names.
func (s *instanceAdmin) ListInstances(ctx context.Context, r *adminpb.ListInstancesRequest) (*adminpb.ListInstancesResponse, error) {
	all, err := s.instancesIn(ctx, r.Parent)
	if err != nil {
		return nil, err
	}
	list := new(adminpb.ListInstancesResponse)
	for _, i := range all {
		list.Instances = append(list.Instances, instanceMessage(i))
	}
	return list, nil
}

// instancesIn returns the instances of a project that the sender of a request may know of.
func (s *Server) instancesIn(ctx context.Context, parent string) (list []instance, err error) {
	project, ok := strings.CutPrefix(parent, "projects/")
	if !ok || !plain(project) {
		return nil, invalid("parent", "%q is no name of a project: projects/PROJECT", parent)
	}
	c, err := s.work(ctx, admission.Read, "")
	if err != nil {
		return nil, err
	}
	defer c.end()
	tables, err := s.tables(ctx)
	if err != nil {
		return nil, err
	}
	if project == s.home.project {
		list = append(list, s.home)
	}
	for _, i := range instancesOf(tables) {
		if i.project == project && i != s.home {
			list = append(list, i)
		}
	}
	return list, nil
}

// instancesOf returns the instances of tables, in the order of the tables.
func instancesOf(tables []widecol.Table) (list []instance) {
	for _, t := range tables {
		parts := strings.SplitN(t.Name, separator, 3)
		if len(parts) < 3 {
			continue
		}
		if i := (instance{parts[0], parts[1]}); len(list) == 0 || list[len(list)-1] != i {
			list = append(list, i)
		}
	}
	return list
}

// DeleteInstance deletes the tables of an instance.
func (s *instanceAdmin) DeleteInstance(ctx context.Context, r *adminpb.DeleteInstanceRequest) (*emptypb.Empty, error) {
	if err := s.authorize(ctx, access.Admin, ""); err != nil {
		return nil, err
	}
	i, err := parseInstance(r.Name)
	if err != nil {
		return nil, err
	}
	if i == s.home {
		return nil, status.Errorf(codes.FailedPrecondition, "%s cannot be deleted: delete its tables", i)
	}
	c, err := s.work(ctx, admission.Write, "")
	if err != nil {
		return nil, err
	}
	defer c.end()
	tables, err := s.store.Tables(ctx)
	if err != nil {
		return nil, statusOf(err)
	}
	for _, t := range tables {
		if _, ok := s.shown(i, t.Name); !ok {
			continue
		}
		if err := s.store.DropTable(ctx, t.Name); err != nil {
			return nil, statusOf(err)
		}
	}
	return &emptypb.Empty{}, nil
}

// GetCluster describes the cluster of an instance.
func (s *instanceAdmin) GetCluster(ctx context.Context, r *adminpb.GetClusterRequest) (*adminpb.Cluster, error) {
	name, id, _ := strings.Cut(r.Name, "/clusters/")
	i, err := parseInstance(name)
	if err != nil {
		return nil, err
	}
	if id != clusterID {
		return nil, unknownCluster(i, r.Name)
	}
	return clusterMessage(i), nil
}

func unknownCluster(i instance, name string) error {
	return status.Errorf(codes.NotFound, "there is no cluster %q: the only one is %s", name, i.cluster())
}

// ListClusters lists the cluster of an instance, or those of all instances of a project.
func (s *instanceAdmin) ListClusters(ctx context.Context, r *adminpb.ListClustersRequest) (*adminpb.ListClustersResponse, error) {
	list := new(adminpb.ListClustersResponse)
	if project, ok := strings.CutSuffix(r.Parent, "/instances/-"); ok {
		all, err := s.instancesIn(ctx, project)
		for _, i := range all {
			list.Clusters = append(list.Clusters, clusterMessage(i))
		}
		return list, err
	}
	i, err := parseInstance(r.Parent)
	if err != nil {
		return nil, err
	}
	list.Clusters = append(list.Clusters, clusterMessage(i))
	return list, nil
}

const profileID = "default"

func profileMessage(i instance) *adminpb.AppProfile {
	return &adminpb.AppProfile{
		Name: i.String() + "/appProfiles/" + profileID, Description: "every request goes to the one cluster",
		RoutingPolicy: &adminpb.AppProfile_SingleClusterRouting_{SingleClusterRouting: &adminpb.AppProfile_SingleClusterRouting{
			ClusterId: clusterID, AllowTransactionalWrites: true,
		}},
	}
}

// GetAppProfile describes the app profile of an instance.
func (s *instanceAdmin) GetAppProfile(ctx context.Context, r *adminpb.GetAppProfileRequest) (*adminpb.AppProfile, error) {
	name, id, _ := strings.Cut(r.Name, "/appProfiles/")
	i, err := parseInstance(name)
	if err != nil {
		return nil, err
	}
	if id != profileID {
		return nil, status.Errorf(codes.NotFound, "there is no app profile %q: the only one is %s", id, profileID)
	}
	return profileMessage(i), nil
}

// ListAppProfiles lists the app profile of an instance.
func (s *instanceAdmin) ListAppProfiles(ctx context.Context, r *adminpb.ListAppProfilesRequest) (*adminpb.ListAppProfilesResponse, error) {
	i, err := parseInstance(r.Parent)
	if err != nil {
		return nil, err
	}
	return &adminpb.ListAppProfilesResponse{AppProfiles: []*adminpb.AppProfile{profileMessage(i)}}, nil
}

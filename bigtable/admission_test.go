package bigtable

import (
	"testing"
	"time"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"

	"github.com/colonnade-db/colonnade/admission"
)

// tableless are the calls about no single table, with the class that each works in.
var tableless = map[string]struct {
	class admission.Class
	do    func(h *harness) error
}{
	"ListTables": {admission.Read, func(h *harness) error {
		_, err := h.admin.ListTables(h.ctx, &adminpb.ListTablesRequest{Parent: testInstance})
		return err
	}},
	"ListInstances": {admission.Read, func(h *harness) error {
		_, err := h.inst.ListInstances(h.ctx, &adminpb.ListInstancesRequest{Parent: "projects/p"})
		return err
	}},
	"ListClusters": {admission.Read, func(h *harness) error {
		_, err := h.inst.ListClusters(h.ctx, &adminpb.ListClustersRequest{Parent: "projects/p/instances/-"})
		return err
	}},
	"DeleteInstance": {admission.Write, func(h *harness) error {
		_, err := h.inst.DeleteInstance(h.ctx, &adminpb.DeleteInstanceRequest{Name: testInstance})
		return err
	}},
	"CreateInstance": {admission.Quick, func(h *harness) error {
		_, err := h.inst.CreateInstance(h.ctx, &adminpb.CreateInstanceRequest{Parent: "projects/p", InstanceId: "new"})
		return err
	}},
	"GetInstance": {admission.Quick, func(h *harness) error {
		_, err := h.inst.GetInstance(h.ctx, &adminpb.GetInstanceRequest{Name: testInstance})
		return err
	}},
	"GetCluster": {admission.Quick, func(h *harness) error {
		_, err := h.inst.GetCluster(h.ctx, &adminpb.GetClusterRequest{Name: testInstance + "/clusters/" + clusterID})
		return err
	}},
	"GetAppProfile": {admission.Quick, func(h *harness) error {
		_, err := h.inst.GetAppProfile(h.ctx, &adminpb.GetAppProfileRequest{Name: testInstance + "/appProfiles/default"})
		return err
	}},
	"ListAppProfiles": {admission.Quick, func(h *harness) error {
		_, err := h.inst.ListAppProfiles(h.ctx, &adminpb.ListAppProfilesRequest{Parent: testInstance})
		return err
	}},
	"PingAndWarm": {admission.Quick, func(h *harness) error {
		_, err := h.data.PingAndWarm(h.ctx, &btpb.PingAndWarmRequest{Name: testInstance})
		return err
	}},
}

// TestTablelessAdmission: calls about no single table wait for a slot as others do, unless they only read what is in
// memory, and none is let in once the server stops.
func TestTablelessAdmission(t *testing.T) {
	for call, c := range tableless {
		h := newHarness(t, Options{})
		control := h.limited(9)
		h.serve(Options{Admission: control})
		if c.class == admission.Quick {
			for class := admission.Write; class <= admission.Scan; class++ {
				busy := admission.Request{Control: control}
				_, err := busy.Begin(h.ctx, class)
				h.ok(err)
			}
			if err := c.do(h); err != nil {
				t.Errorf("%s while all slots are taken: %v", call, err)
			}
		} else {
			h.waits(call, control, c.class, func() error { return c.do(h) })
		}
		control.Drain()
		h.fails(call+" while the server stops", c.do(h), codes.Unavailable, "shutting down")
	}
}

// waits checks that a call waits for a slot of its class, and is refused when it has waited long enough.
func (h *harness) waits(call string, control *admission.Control, class admission.Class, do func() error) {
	h.Helper()
	busy := admission.Request{Control: control}
	slot, err := busy.Begin(h.ctx, class)
	h.ok(err)
	refused := make(chan error, 1)
	go func() { refused <- do() }()
	for !slot.Contended() {
		select {
		case err := <-refused:
			h.Errorf("%s did not wait: %v", call, err)
			return
		default:
			h.clock.Advance(0)
		}
	}
	for {
		select {
		case err := <-refused:
			h.fails(call, err, codes.Unavailable, "too many requests are under way")
			slot.Release()
			return
		default:
			h.clock.Advance(time.Second)
		}
	}
}

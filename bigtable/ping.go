package bigtable

import (
	"context"

	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
)

// PingAndWarm implements the data service: clients send it to keep connections open.
func (s *Server) PingAndWarm(ctx context.Context, r *btpb.PingAndWarmRequest) (*btpb.PingAndWarmResponse, error) {
	if _, err := parseInstance(r.Name); err != nil {
		return nil, err
	}
	return &btpb.PingAndWarmResponse{}, nil
}

package server

import (
	"context"
	"errors"
	"fmt"

	"quarry/server/index"
)

// syncConnectors finishes interrupted work of earlier processes: documents that do not match their connector, or have no
// vectors. A read-only library is served as it is.
func (s *Server) syncConnectors(ctx context.Context) error {
	people, err := s.directory(ctx, false)
	if err != nil {
		return err
	}
	tenants, err := people.Tenants(ctx)
	if err != nil {
		return err
	}
	for _, tenant := range tenants {
		s.vectors.changed(tenant)
		err := s.api.SyncConnectors(ctx, tenant)
		if errors.Is(err, index.ErrReadOnly) {
			s.options.Log.Warn("documents do not follow the last change of their connectors", "tenant", tenant,
				"error", err.Error())
			continue
		}
		if err != nil {
			return fmt.Errorf("bring the library in step with its connectors: %w", err)
		}
	}
	return nil
}

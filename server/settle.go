package server

import (
	"context"
	"errors"
	"fmt"

	"quarry/server/index"
)

// settleAll ends what an earlier process broke off: documents that do not follow their connector yet, or have no vectors. A library that
// cannot be written is served as it is.
func (s *Server) settleAll(ctx context.Context) error {
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
		err := s.api.Settle(ctx, tenant)
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

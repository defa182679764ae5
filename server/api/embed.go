package api

import (
	"context"
	"strings"

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/llm"
)

// Embed gives a vector to every chunk of a tenant that has none by the configured model; without one it does nothing.
// What it stored before an error stays, and the next call goes on from there.
func (s *Server) Embed(ctx context.Context, tenant string, documents index.Index, report func(index.Embedded)) error {
	model, ok := s.Models.Embedder()
	if !ok {
		return nil
	}
	model = llm.CountedEmbedder(model, s.Budget.Meter(tenant), "embed")
	return documents.Embed(ctx, model.Name(), func(ctx context.Context, texts []string) ([][]float32, error) {
		vectors, _, err := model.Embed(ctx, texts)
		return vectors, err
	}, report)
}

// embedAdded embeds what was just added. Everything is stored and found by words by then, so that a failure is told and
// is none of the change.
func (s *Server) embedAdded(ctx context.Context, who directory.Principal, documents index.Index,
	report func(wire.LibraryEvent)) {
	so := wire.LibraryEvent{Type: wire.LibraryEmbedding}
	err := s.Embed(ctx, who.Tenant, documents, func(e index.Embedded) {
		if told := (so.Total > 0); e.Done < e.Total || told {
			so.Done, so.Total = e.Done, e.Total
			report(so)
		}
	})
	if err == nil || ctx.Err() != nil {
		return
	}
	s.Log.WarnContext(ctx, "embedding failed", "tenant", who.Tenant, "error", err.Error())
	so.Reason = strings.TrimPrefix(err.Error(), "embed: ")
	report(so)
}

// changed tells that documents were stored by a request.
func (s *Server) changed(tenant string) {
	if s.Changed != nil {
		s.Changed(tenant)
	}
}

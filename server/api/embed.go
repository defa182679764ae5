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
	_, err := s.embed(ctx, tenant, documents, report)
	return err
}

// embed is Embed; it also tells what the model said of a text that it does not take.
func (s *Server) embed(ctx context.Context, tenant string, documents index.Index, report func(index.Embedded)) (
	refusal error, err error) {
	model, ok := s.Models.Embedder()
	if !ok {
		return nil, nil
	}
	v := &vectoriser{model: llm.CountedEmbedder(model, s.Budget.Meter(tenant), "embed")}
	err = documents.Embed(ctx, model.Name(), v.vectors, report)
	if v.refused > 0 {
		s.Log.WarnContext(ctx, "the embedding model does not take some passages; they are found by words alone",
			"tenant", tenant, "passages", v.refused, "error", v.why.Error())
	}
	return v.why, err
}

// harmless is a text that every embedding model takes.
const harmless = "a short text"

// vectoriser asks a model for the vectors of texts, and finds out which of them it does not take.
type vectoriser struct {
	model   llm.Embedder
	refused int
	why     error // of the last that was refused
}

// vectors is an index.Vectorise. An error may be that of one text: if the model takes a harmless one, halves tell which.
func (v *vectoriser) vectors(ctx context.Context, texts []string) ([][]float32, error) {
	found, _, err := v.model.Embed(ctx, llm.ForDocuments, texts)
	if err == nil || !llm.RefusesText(err) {
		return found, err
	}
	if _, _, broken := v.model.Embed(ctx, llm.ForDocuments, []string{harmless}); broken != nil {
		return nil, err
	}
	return v.split(ctx, texts, err)
}

// split asks for the halves of what was refused; one text that is refused has no vector.
func (v *vectoriser) split(ctx context.Context, texts []string, why error) ([][]float32, error) {
	if len(texts) == 1 {
		v.refused++
		v.why = why
		return [][]float32{nil}, nil
	}
	var all [][]float32
	for _, half := range [][]string{texts[:len(texts)/2], texts[len(texts)/2:]} {
		found, _, err := v.model.Embed(ctx, llm.ForDocuments, half)
		if err != nil && llm.RefusesText(err) {
			found, err = v.split(ctx, half, err)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// embedAdded embeds what was just added. Everything is stored and found by words by then, so that a failure is told and
// is none of the change.
func (s *Server) embedAdded(ctx context.Context, who directory.Principal, documents index.Index,
	report progress) {
	so := wire.LibraryEvent{Type: wire.LibraryEmbedding}
	refusal, err := s.embed(ctx, who.Tenant, documents, func(e index.Embedded) {
		if told := (so.Total > 0); e.Done+e.Refused < e.Total || told {
			so.Done, so.Total, so.Refused = e.Done, e.Total, e.Refused
			report(so)
		}
	})
	switch {
	case ctx.Err() != nil || err == nil && refusal == nil:
		return
	case err == nil:
		so.Reason = refusal.Error()
	default:
		s.Log.WarnContext(ctx, "embedding failed", "tenant", who.Tenant, "error", err.Error())
		so.Reason = strings.TrimPrefix(err.Error(), "embed: ")
	}
	report(so)
}

// changed tells that documents were stored by a request.
func (s *Server) changed(tenant string) {
	if s.Changed != nil {
		s.Changed(tenant)
	}
}

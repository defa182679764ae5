package api

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/index"
)

// indexedSources answers GET /manage/indexed-sources.
func (s *Server) indexedSources(c *call) (any, error) {
	known, err := s.catalog(c.Context(), c.who)
	return wire.IndexedSources{Sources: known.sources}, err
}

// connectorStatus answers GET /manage/connector-status. Every indexed source is active.
func (s *Server) connectorStatus(c *call) (any, error) {
	known, err := s.catalog(c.Context(), c.who)
	return mapped(known.sources, func(source string) wire.ConnectorStatus {
		return wire.ConnectorStatus{HasSuccessfulRun: true, Source: source, Status: "ACTIVE"}
	}), err
}

// documentSets answers GET /manage/document-set.
func (s *Server) documentSets(c *call) (any, error) {
	sets, err := s.sets(c.Context(), c.who)
	if err != nil {
		return nil, err
	}
	return s.describeSets(c.Context(), c.who, sets)
}

// sets lists the document sets that the caller may search.
func (s *Server) sets(ctx context.Context, who directory.Principal) ([]directory.DocumentSet, error) {
	d, err := s.Directory(ctx, false)
	if err != nil {
		return nil, err
	}
	return d.DocumentSets(ctx, who)
}

// federated answers GET /federated and its status: this server has no federated connectors.
func federated(*call) (any, error) { return []wire.FederatedConnection{}, nil }

// tagPattern selects tags.
type tagPattern struct {
	key, value string
	both       bool // key and value must match; otherwise either
	prefix     bool
}

func newTagPattern(text string, prefix bool) tagPattern {
	if key, value, found := strings.Cut(text, "="); found {
		return tagPattern{key: strings.TrimSpace(key), value: strings.TrimSpace(value), both: true, prefix: prefix}
	}
	return tagPattern{key: text, value: text, prefix: prefix}
}

func (p tagPattern) matches(tag index.Tag) bool {
	key, value := p.matchesText(tag.Key, p.key), p.matchesText(tag.Value, p.value)
	if p.both {
		return key && value
	}
	return key || value
}

func (p tagPattern) matchesText(text, pattern string) bool {
	if !p.prefix {
		return strings.EqualFold(text, pattern)
	}
	return strings.HasPrefix(strings.ToLower(text), strings.ToLower(pattern))
}

// validTags answers GET /query/valid-tags: the most frequent tags first, each with the source that carries it.
func (s *Server) validTags(c *call) (any, error) {
	const usual, most = 50, 1000
	pattern := c.textOr("match_pattern", "", wire.MaxQueryRunes)
	prefix := c.boolean("allow_prefix", true)
	limit := c.wholeOr("limit", usual, 1, most)
	asked := c.oneOf("sources", sourceValues())
	if err := c.failure(); err != nil {
		return nil, err
	}
	known, err := s.catalog(c.Context(), c.who)
	if err != nil {
		return nil, err
	}
	valid := wire.ValidTags{Tags: []wire.SourceTag{}}
	for _, tag := range known.tags {
		if len(valid.Tags) == limit {
			break
		}
		if len(asked) > 0 && !slices.Contains(asked, tag.source) {
			continue
		}
		if pattern == "" || newTagPattern(pattern, prefix).matches(tag.Tag) {
			valid.Tags = append(valid.Tags, wire.SourceTag{Key: tag.Key, Value: tag.Value, Source: tag.source})
		}
	}
	return valid, nil
}

type countedTag struct {
	index.Tag
	source string
	count  int
}

// compareTags orders tags by descending count.
func compareTags(a, b countedTag) int {
	return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value),
		cmp.Compare(a.source, b.source))
}

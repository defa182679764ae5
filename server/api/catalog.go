package api

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/index"
)

// indexedSources answers GET /manage/indexed-sources.
func (s *Server) indexedSources(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	known, err := s.catalog(r.Context(), who)
	if err != nil {
		return err
	}
	return answer(w, wire.IndexedSources{Sources: known.sources})
}

// connectorStatus answers GET /manage/connector-status: what is indexed can be searched, so every source is active.
func (s *Server) connectorStatus(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	known, err := s.catalog(r.Context(), who)
	if err != nil {
		return err
	}
	rows := []wire.ConnectorStatus{}
	for _, source := range known.sources {
		rows = append(rows, wire.ConnectorStatus{HasSuccessfulRun: true, Source: source, Status: "ACTIVE"})
	}
	return answer(w, rows)
}

// documentSets answers GET /manage/document-set.
func (s *Server) documentSets(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	d, err := s.Directory(r.Context(), false)
	if err != nil {
		return err
	}
	sets, err := d.DocumentSets(r.Context(), who)
	if err != nil {
		return err
	}
	described, err := s.describeSets(r.Context(), who, sets)
	if err != nil {
		return err
	}
	return answer(w, described)
}

// federated answers GET /federated and its status: this server asks no other at query time.
func (s *Server) federated(w http.ResponseWriter, _ *http.Request, _ directory.Principal) error {
	return answer(w, []wire.FederatedConnection{})
}

// tagPattern decides which tags are asked for.
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
	key, value := p.holds(tag.Key, p.key), p.holds(tag.Value, p.value)
	if p.both {
		return key && value
	}
	return key || value
}

func (p tagPattern) holds(text, pattern string) bool {
	if !p.prefix {
		return strings.EqualFold(text, pattern)
	}
	return strings.HasPrefix(strings.ToLower(text), strings.ToLower(pattern))
}

// validTags answers GET /query/valid-tags: the most frequent tags first, each with the source that carries it.
func (s *Server) validTags(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	const usual, most = 50, 1000
	f := queryFields(r.URL.Query(), "sources")
	var pattern *string
	if raw, ok := f.given("match_pattern"); ok {
		text := f.text(raw, 0, wire.MaxQueryRunes, "match_pattern")
		pattern = &text
	}
	prefix := f.boolean("allow_prefix", true)
	limit := f.wholeOr("limit", usual, 1, most)
	asked := f.oneOf("sources", sourceValues())
	if err := f.failure(); err != nil {
		return err
	}
	known, err := s.catalog(r.Context(), who)
	if err != nil {
		return err
	}
	valid := wire.ValidTags{Tags: []wire.SourceTag{}}
	for _, tag := range known.tags {
		if len(valid.Tags) == limit {
			break
		}
		if len(asked) > 0 && !slices.Contains(asked, tag.source) {
			continue
		}
		if pattern == nil || *pattern == "" || newTagPattern(*pattern, prefix).matches(tag.Tag) {
			valid.Tags = append(valid.Tags, wire.SourceTag{Key: tag.Key, Value: tag.Value, Source: tag.source})
		}
	}
	return answer(w, valid)
}

type countedTag struct {
	index.Tag
	source string
	count  int
}

// compareTags puts the most frequent first.
func compareTags(a, b countedTag) int {
	return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value),
		cmp.Compare(a.source, b.source))
}

// boolean reads a boolean as FastAPI does.
func (f *fields) boolean(name string, otherwise bool) bool {
	raw, ok := f.given(name)
	if !ok {
		return otherwise
	}
	switch strings.ToLower(strings.Trim(string(bytes.TrimSpace(raw)), `"`)) {
	case "true", "1", "on", "yes", "t", "y":
		return true
	case "false", "0", "off", "no", "f", "n":
		return false
	}
	f.refuse(raw, "bool_parsing", "Input should be a valid boolean, unable to interpret input", name)
	return otherwise
}

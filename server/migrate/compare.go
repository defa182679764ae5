package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"quarry/internal/guard"
	"quarry/server/fault"
	"quarry/server/index"
)

const (
	maxSamples   = 50
	comparedHits = 10
	queryWords   = 8
	// toleratedMisses is how many in a hundred sampled documents the target may rank below its first results where the
	// source does not: two engines never rank quite the same.
	toleratedMisses = 10
	comparing       = "compare" // begins its errors
)

// Comparison is what searches for sampled documents found in both indexes.
type Comparison struct {
	Queries       int
	Source        int     // sampled documents among the first ten results of the source
	Target        int     // likewise of the target
	SameFirst     int     // queries with the same first document
	SharedResults float64 // part of the first ten documents that both have in common
}

// sample is a query made of a document's words.
type sample struct{ id, query string }

// sample picks documents at even distances.
func (c *copying) sample(documents []index.Document, total int) {
	step := max(1, total/maxSamples)
	for i := range documents {
		d := &documents[i]
		if (c.state.Copied+i)%step > 0 || d.Hidden || len(d.Chunks) == 0 || len(c.samples) >= maxSamples {
			continue
		}
		words := strings.Fields(d.Chunks[len(d.Chunks)/2].Text)
		query := strings.TrimSpace(d.Title + " " + strings.Join(words[:min(len(words), queryWords)], " "))
		if query != "" {
			c.samples = append(c.samples, sample{d.ID, query})
		}
	}
}

// compare checks that the target has as many documents as the source, and finds the sampled ones like it. It returns
// false if the source is of another version than what was copied.
func (c *copying) compare(version string) bool {
	from, err := c.from.Snapshot(c.ctx)
	guard.While(comparing, err)
	defer from.Close()
	if from.Version() != version {
		return false
	}
	to, err := c.to.Snapshot(c.ctx)
	guard.While(comparing, err)
	defer to.Close()
	here, err := from.Stats(c.ctx)
	guard.While(comparing, err)
	there, err := to.Stats(c.ctx)
	guard.While(comparing, err)
	c.result.Documents, c.result.Chunks = there.Documents, there.Chunks
	if here.Documents != there.Documents || here.Chunks != there.Chunks {
		guard.Abort(fmt.Errorf("%w: %d documents with %d passages instead of %d with %d", fault.ErrDiffers,
			there.Documents, there.Chunks, here.Documents, here.Chunks))
	}
	found := &c.result.Compared
	for _, s := range c.samples {
		found.add(c.ctx, s, from, to)
	}
	if found.Queries > 0 {
		found.SharedResults /= float64(found.Queries)
	}
	if 100*(found.Source-found.Target) > toleratedMisses*found.Queries {
		guard.Abort(fmt.Errorf("%w: it finds %d of %d sampled documents among the first results, the library %d",
			fault.ErrDiffers, found.Target, found.Queries, found.Source))
	}
	return true
}

// add searches both indexes for a sampled document.
func (c *Comparison) add(ctx context.Context, s sample, from, to index.Snapshot) {
	query := index.Query{Text: s.query, Filter: index.Filter{Access: index.Everything()}, Limit: comparedHits,
		PerDocument: 1}
	expected, err := from.Search(ctx, query)
	guard.While(comparing, err)
	got, err := to.Search(ctx, query)
	guard.While(comparing, err)
	has := func(hits []index.Hit, id string) bool {
		return slices.ContainsFunc(hits, func(hit index.Hit) bool { return hit.DocumentID == id })
	}
	c.Queries++
	if has(expected.Hits, s.id) {
		c.Source++
	}
	if has(got.Hits, s.id) {
		c.Target++
	}
	if len(expected.Hits) == 0 || len(got.Hits) == 0 {
		return
	}
	if expected.Hits[0].DocumentID == got.Hits[0].DocumentID {
		c.SameFirst++
	}
	shared := 0
	for _, hit := range expected.Hits {
		if has(got.Hits, hit.DocumentID) {
			shared++
		}
	}
	c.SharedResults += float64(shared) / float64(len(expected.Hits))
}

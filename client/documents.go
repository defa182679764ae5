package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"quarry/client/wire"
	"quarry/internal/guard"
)

const chunkFetchers = 4 // at once, where a server gives only one chunk per request

// DocumentSize returns the length of a document; for an unknown or hidden one the error is NotAvailable.
func (c *Client) DocumentSize(ctx context.Context, id string) (*wire.DocumentSize, error) {
	return fetched[wire.DocumentSize](ctx, c, get("/document/document-size-info", url.Values{"document_id": {id}}))
}

// ChunkInfo returns one chunk of a document, counted from 0.
func (c *Client) ChunkInfo(ctx context.Context, id string, chunk int) (*wire.ChunkInfo, error) {
	return fetched[wire.ChunkInfo](ctx, c, get("/document/chunk-info",
		url.Values{"document_id": {id}, "chunk_id": {strconv.Itoa(chunk)}}))
}

// Chunks returns the chunks from to to of a document, both included, and its metadata. A negative to means
// wire.MaxChunksPerRequest chunks. From a bare Onyx the chunks are fetched one by one, without title and headings.
func (c *Client) Chunks(ctx context.Context, id string, from, to int) (*wire.DocumentChunks, error) {
	const path = "/document/chunks"
	if to < 0 {
		to = max(0, from) + wire.MaxChunksPerRequest - 1
	}
	if from < 0 || to < from || to-from >= wire.MaxChunksPerRequest {
		return nil, badRequest(http.MethodGet, path,
			fmt.Sprintf("chunks %d to %d are not a range of at most %d", from, to, wire.MaxChunksPerRequest))
	}
	r := get(path, url.Values{"document_id": {id}, "from": {strconv.Itoa(from)}, "to": {strconv.Itoa(to)}})
	r.limit = maxSearchBytes
	document, err := fetched[wire.DocumentChunks](ctx, c, r)
	if routeMissing(err) {
		document, err = c.chunksOneByOne(ctx, id, from, to)
	}
	if err != nil {
		return nil, err
	}
	wire.FillEmpty(document)
	return document, nil
}

// routeMissing reports whether the server lacks the route, rather than the document.
func routeMissing(err error) bool {
	failure, ok := errors.AsType[*Error](err)
	return ok && (failure.Status == http.StatusMethodNotAllowed || failure.Status == http.StatusNotFound &&
		failure.Code == "" && strings.EqualFold(failure.Reason, http.StatusText(http.StatusNotFound)))
}

func (c *Client) chunksOneByOne(ctx context.Context, id string, from, to int) (*wire.DocumentChunks, error) {
	size, err := c.DocumentSize(ctx, id)
	if err != nil {
		return nil, err
	}
	count := max(0, size.NumChunks)
	document := &wire.DocumentChunks{
		Document: wire.DocumentInfo{ID: id, ChunkCount: count},
		Chunks:   make([]wire.Chunk, max(0, min(to, count-1)-from+1)),
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(chunkFetchers)
	for i := range document.Chunks {
		group.Go(guard.Err(func() error {
			chunk, err := c.ChunkInfo(ctx, id, from+i)
			if err == nil {
				document.Chunks[i] = wire.Chunk{ChunkInd: from + i, Content: chunk.Content}
			}
			return err
		}))
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return document, nil
}

// Package engine reads PDF files with pdfium, compiled to WebAssembly: it cannot reach files, the network, or memory
// beyond its bound.
package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/klippa-app/go-pdfium"
	pdferrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/responses"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"quarry/server/ingest/pdf"
)

const (
	wasmPage      = 64 << 10
	mostBookmarks = 5_000
	deepest       = 30
	longestTitle  = 500
	// patience is how long to wait for an instance of the engine.
	patience = 2 * time.Minute
)

// Engine is the engine, which Start starts. It is not safe for concurrent use.
type Engine struct {
	cache  string
	pdfium pdfium.Pdfium // nil: it is not started
}

// New returns an engine that keeps its compiled form in the folder cache.
func New(cache string) *Engine { return &Engine{cache: cache} }

// IsStarted implements pdf.Engine.
func (e *Engine) IsStarted() bool { return e.pdfium != nil }

// Start implements pdf.Engine.
func (e *Engine) Start(ctx context.Context) (err error) {
	if e.pdfium == nil {
		e.pdfium, err = start(ctx, e.cache)
	}
	return err
}

// start compiles the engine, or takes it from the cache. Processes that start at once wait for the first of them.
func start(ctx context.Context, cache string) (pdfium.Pdfium, error) {
	config := wazero.NewRuntimeConfigCompiler().WithMemoryLimitPages(pdf.MaxMemory / wasmPage)
	if os.MkdirAll(cache, 0o700) == nil {
		lock := flock.New(filepath.Join(cache, "lock"))
		if lock.Lock() == nil {
			defer lock.Unlock() // the process's end unlocks it, too
		}
		if kept, err := wazero.NewCompilationCacheWithDir(cache); err == nil {
			config = config.WithCompilationCache(kept)
		}
	}
	pool, err := webassembly.Init(webassembly.Config{
		Context: experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(allocate)), MinIdle: 1,
		MaxIdle: 1, MaxTotal: 1, RuntimeConfig: config, FSConfig: wazero.NewFSConfig(),
		Stdout: io.Discard, Stderr: io.Discard, ReuseWorkers: true,
	})
	if err != nil {
		return nil, fmt.Errorf("start the PDF engine: %w", err)
	}
	return pool.GetInstance(patience)
}

// memory is that of the engine, reserved at once: growing it would copy it. Pages that are not used cost nothing.
type memory []byte

func allocate(uint64, uint64) experimental.LinearMemory { return memory(make([]byte, pdf.MaxMemory)) }

// Reallocate implements experimental.LinearMemory.
func (m memory) Reallocate(size uint64) []byte {
	if size > uint64(len(m)) {
		return nil
	}
	return m[:size]
}

// Free implements experimental.LinearMemory.
func (m memory) Free() {}

// Read implements pdf.Engine.
func (e *Engine) Read(data []byte, send func(pdf.Message) error) (err error) {
	opened, err := e.pdfium.OpenDocument(&requests.OpenDocument{File: &data})
	switch {
	case errors.Is(err, pdferrors.ErrPassword) || errors.Is(err, pdferrors.ErrSecurity):
		return &pdf.FileError{Err: pdf.ErrEncrypted}
	case errors.Is(err, pdferrors.ErrFormat) || errors.Is(err, pdferrors.ErrFile) || errors.Is(err, pdferrors.ErrPage):
		return &pdf.FileError{Err: errors.New("it is not a valid PDF file")}
	case err != nil:
		return err
	}
	document := opened.Document
	defer func() {
		if _, failed := e.pdfium.FPDF_CloseDocument(&requests.FPDF_CloseDocument{Document: document}); failed != nil {
			err = failed
		}
	}()
	count, err := e.pdfium.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: document})
	if err != nil {
		return err
	}
	description := e.describe(document)
	description.Pages = count.PageCount
	if err := send(description); err != nil {
		return err
	}
	for i := range count.PageCount {
		page := requests.Page{ByIndex: &requests.PageByIndex{Document: document, Index: i}}
		var m pdf.Message
		if read, err := e.pdfium.GetPageText(&requests.GetPageText{Page: page}); err == nil {
			m.Text = read.Text
		} else if m.Unread = errors.Is(err, pdferrors.ErrPage) || errors.Is(err, pdferrors.ErrUnknown); !m.Unread {
			return err
		}
		if err := send(m); err != nil {
			return err
		}
	}
	return nil
}

// describe reads the properties and the table of contents, as far as they can be read.
func (e *Engine) describe(document references.FPDF_DOCUMENT) pdf.Message {
	var m pdf.Message
	if read, err := e.pdfium.GetMetaData(&requests.GetMetaData{Document: document}); err == nil {
		for _, tag := range read.Tags {
			for name, value := range map[string]*string{"Title": &m.Title, "Author": &m.Authors, "Subject": &m.Subject,
				"Keywords": &m.Keywords, "CreationDate": &m.Created, "ModDate": &m.Modified} {
				if tag.Tag == name {
					*value = tag.Value[:min(len(tag.Value), 4*longestTitle)]
				}
			}
		}
	}
	if n := 0; e.isTree(document, nil, 0, &n) {
		if read, err := e.pdfium.GetBookmarks(&requests.GetBookmarks{Document: document}); err == nil {
			appendBookmarks(&m, read.Bookmarks, 0)
		}
	}
	return m
}

// isTree reports whether the entries below one are of a bounded number and depth. Files may link them in circles, which
// GetBookmarks does not expect.
func (e *Engine) isTree(document references.FPDF_DOCUMENT, below *references.FPDF_BOOKMARK, level int, n *int) bool {
	first, err := e.pdfium.FPDFBookmark_GetFirstChild(&requests.FPDFBookmark_GetFirstChild{Document: document,
		Bookmark: below})
	if err != nil {
		return false
	}
	for at := first.Bookmark; at != nil; {
		if *n++; *n > mostBookmarks || level > deepest || !e.isTree(document, at, level+1, n) {
			return false
		}
		next, err := e.pdfium.FPDFBookmark_GetNextSibling(&requests.FPDFBookmark_GetNextSibling{Document: document,
			Bookmark: *at})
		if err != nil {
			return false
		}
		at = next.Bookmark
	}
	return true
}

func appendBookmarks(m *pdf.Message, bookmarks []responses.GetBookmarksBookmark, level int) {
	for _, b := range bookmarks {
		if b.DestInfo != nil {
			title := b.Title[:min(len(b.Title), longestTitle)]
			m.Outline = append(m.Outline, pdf.Bookmark{Title: title, Level: level, Page: b.DestInfo.PageIndex})
		}
		appendBookmarks(m, b.Children, level+1)
	}
}

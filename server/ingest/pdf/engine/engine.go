// Package engine reads PDF files with pdfium, compiled to WebAssembly: it cannot reach files, the network, or memory
// beyond its bound.
package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
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

	"quarry/internal/guard"
	"quarry/server/ingest/pdf"
)

const (
	wasmPage      = 64 << 10
	maxFile       = 128 << 20
	mostBookmarks = 5_000
	deepest       = 30
	longestTitle  = 500
	// patience is after how long without progress the process ends itself, should the one that started it be gone.
	patience = 2 * time.Minute
)

// Serve reads PDF files from in and writes their content to out, until in ends. The compiled engine is kept in the folder
// cache. It returns after an error of the engine, because its memory may be damaged.
func Serve(ctx context.Context, in io.Reader, out io.Writer, cache string) error {
	const softLimit = pdf.MaxMemory + 64<<20
	debug.SetMemoryLimit(softLimit)
	engine, err := start(ctx, cache)
	if err != nil {
		return err
	}
	defer engine.Close()
	s := &session{engine: engine, out: bufio.NewWriter(out)}
	if err := s.send(pdf.Message{}); err != nil {
		return err
	}
	for {
		data, err := pdf.ReadFrame(in, maxFile)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		watchdog := time.AfterFunc(patience, guard.Func(func() { os.Exit(1) }, func(error) {}))
		s.progress = func() { watchdog.Reset(patience) }
		err = s.file(data)
		watchdog.Stop()
		if err != nil {
			return err
		}
	}
}

// start compiles the engine, or takes it from the cache. Processes that start at once wait for the first of them.
func start(ctx context.Context, cache string) (pdfium.Pdfium, error) {
	config := wazero.NewRuntimeConfigCompiler().WithMemoryLimitPages(pdf.MaxMemory / wasmPage)
	if os.MkdirAll(cache, 0o700) == nil {
		lock := flock.New(filepath.Join(cache, "lock"))
		if lock.Lock() == nil {
			defer func() { _ = lock.Unlock() }() // the process's end unlocks it, too
		}
		if kept, err := wazero.NewCompilationCacheWithDir(cache); err == nil {
			config = config.WithCompilationCache(kept)
		}
	}
	pool, err := webassembly.Init(webassembly.Config{
		Context: experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(allocate)), MinIdle: 1, MaxIdle: 1, MaxTotal: 1, RuntimeConfig: config, FSConfig: wazero.NewFSConfig(),
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

// session reads files with one engine.
type session struct {
	engine   pdfium.Pdfium
	out      *bufio.Writer
	progress func()
}

func (s *session) send(m pdf.Message) error {
	data, err := json.Marshal(m)
	if err == nil {
		err = pdf.WriteFrame(s.out, data)
	}
	if err == nil {
		err = s.out.Flush()
	}
	return err
}

// file reads a file. An error ends the process.
func (s *session) file(data []byte) error {
	opened, err := s.engine.OpenDocument(&requests.OpenDocument{File: &data})
	switch {
	case errors.Is(err, pdferrors.ErrPassword) || errors.Is(err, pdferrors.ErrSecurity):
		return s.send(pdf.Message{Last: true, Locked: true})
	case errors.Is(err, pdferrors.ErrFormat) || errors.Is(err, pdferrors.ErrFile) || errors.Is(err, pdferrors.ErrPage):
		return s.send(pdf.Message{Last: true, Error: "it is not a valid PDF file"})
	case err != nil:
		return err
	}
	document := opened.Document
	count, err := s.engine.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: document})
	if err != nil {
		return err
	}
	if err := s.send(s.describe(document)); err != nil {
		return err
	}
	for i := range count.PageCount {
		s.progress()
		page := requests.Page{ByIndex: &requests.PageByIndex{Document: document, Index: i}}
		text := ""
		if read, err := s.engine.GetPageText(&requests.GetPageText{Page: page}); err == nil {
			text = read.Text
		} else if !errors.Is(err, pdferrors.ErrPage) && !errors.Is(err, pdferrors.ErrUnknown) {
			return err
		}
		if err := s.send(pdf.Message{Text: text}); err != nil {
			return err
		}
	}
	if _, err := s.engine.FPDF_CloseDocument(&requests.FPDF_CloseDocument{Document: document}); err != nil {
		return err
	}
	return s.send(pdf.Message{Last: true})
}

// describe reads the properties and the table of contents, as far as they can be read.
func (s *session) describe(document references.FPDF_DOCUMENT) pdf.Message {
	var m pdf.Message
	if read, err := s.engine.GetMetaData(&requests.GetMetaData{Document: document}); err == nil {
		for _, tag := range read.Tags {
			for name, value := range map[string]*string{"Title": &m.Title, "Author": &m.Authors, "Subject": &m.Subject,
				"Keywords": &m.Keywords, "CreationDate": &m.Created, "ModDate": &m.Modified} {
				if tag.Tag == name {
					*value = tag.Value[:min(len(tag.Value), 4*longestTitle)]
				}
			}
		}
	}
	if n := 0; s.isTree(document, nil, 0, &n) {
		if read, err := s.engine.GetBookmarks(&requests.GetBookmarks{Document: document}); err == nil {
			appendBookmarks(&m, read.Bookmarks, 0)
		}
	}
	return m
}

// isTree reports whether the entries below one are of a bounded number and depth. Files may link them in circles, which
// GetBookmarks does not expect.
func (s *session) isTree(document references.FPDF_DOCUMENT, below *references.FPDF_BOOKMARK, level int, n *int) bool {
	first, err := s.engine.FPDFBookmark_GetFirstChild(&requests.FPDFBookmark_GetFirstChild{Document: document, Bookmark: below})
	if err != nil {
		return false
	}
	for at := first.Bookmark; at != nil; {
		if *n++; *n > mostBookmarks || level > deepest || !s.isTree(document, at, level+1, n) {
			return false
		}
		next, err := s.engine.FPDFBookmark_GetNextSibling(&requests.FPDFBookmark_GetNextSibling{Document: document, Bookmark: *at})
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

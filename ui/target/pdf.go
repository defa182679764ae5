package target

import (
	"context"
	"io"
	"path/filepath"

	"quarry/server/ingest/pdf"
	"quarry/server/ingest/pdf/engine"
)

// PDFCommand is the argument with which this program runs itself to read PDF files, followed by the folder for the
// compiled engine. It is not a command for users.
const PDFCommand = "__read-pdf"

// pdfProgram returns the program that ReadPDF runs in.
func (h *Host) pdfProgram() pdf.Program {
	if h.Executable == "" {
		return pdf.Program{}
	}
	return pdf.Program{Path: h.Executable, Arguments: []string{PDFCommand, filepath.Join(h.Paths.Cache, "pdf")}}
}

// ReadPDF reads PDF files from in and writes their content to out, until in ends.
func ReadPDF(ctx context.Context, in io.Reader, out io.Writer, cache string) error {
	return engine.Serve(ctx, in, out, cache)
}

package ingest

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// compressions are the extensions of compressed mailboxes and messages.
var compressions = []string{".gz", ".bz2", ".zst", ".zstd"}

const wholeFile = 1 << 62 // bytes, more than any file has

// withoutCompression returns the name of what is compressed in a mailbox or message, or the name of another file as it
// is.
func withoutCompression(file string) string {
	extension := strings.ToLower(path.Ext(file))
	inner := strings.TrimSuffix(file, file[len(file)-len(extension):])
	if !slices.Contains(compressions, extension) || path.Ext(inner) == "" {
		return file
	}
	if f, reason := formatOf(inner); reason != "" || !f.mailbox && f.name != "eml" {
		return file
	}
	return inner
}

// decompressed returns the content of what is compressed with gzip, bzip2 or zstd, and of other data the data itself.
// It takes at most some 40 MB of memory; the caller bounds what it reads, and closes it.
func decompressed(in io.Reader) (io.ReadCloser, error) {
	const signature = 16
	const mostMemory = 32 << 20 // of zstd, which can ask for 2 GB
	buffered := bufio.NewReader(in)
	start, _ := buffered.Peek(signature) // an error appears again when it is read
	switch {
	case bytes.HasPrefix(start, []byte("\x1f\x8b\x08")):
		out, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("it is damaged: %w", err)
		}
		return out, nil
	case bytes.HasPrefix(start, []byte("BZh")) && len(start) > 10 && string(start[4:10]) == "\x31\x41\x59\x26\x53\x59":
		return io.NopCloser(bzip2.NewReader(buffered)), nil
	case bytes.HasPrefix(start, []byte("\x28\xb5\x2f\xfd")):
		out, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(mostMemory))
		if err != nil {
			return nil, err
		}
		return out.IOReadCloser(), nil
	case bytes.HasPrefix(start, []byte("\xfd7zXZ\x00")):
		return nil, errors.New("it is compressed with xz, which quarry does not read")
	case bytes.HasPrefix(start, []byte("Dovecot-LZ4")), bytes.HasPrefix(start, []byte("\x04\x22\x4d\x18")):
		return nil, errors.New("it is compressed with LZ4, which quarry does not read")
	}
	return io.NopCloser(buffered), nil
}

// isCompressed reports whether data starts like what decompressed unpacks.
func isCompressed(start []byte) bool {
	return slices.ContainsFunc([]string{"\x1f\x8b\x08", "BZh", "\x28\xb5\x2f\xfd", "\xfd7zXZ\x00", "\x04\x22\x4d\x18"},
		func(signature string) bool { return bytes.HasPrefix(start, []byte(signature)) })
}

// damagedPart returns what was read before an error in compressed data, with the reason for what follows.
type damagedPart struct {
	in  io.Reader
	err error // why the rest is not read; nil: nothing is missing
}

// Read is io.Reader's. Damage ends the content.
func (d *damagedPart) Read(p []byte) (int, error) {
	n, err := d.in.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		d.err, err = fmt.Errorf("it is damaged: %w; the rest is left out", err), io.EOF
	}
	return n, err
}

// unpack returns a mailbox or message in a temporary file if it is compressed, else the file itself. damage says what
// is missing of it.
func unpack(handle *os.File) (content *os.File, end func() error, damage, err error) {
	start := make([]byte, 16)
	n, _ := handle.ReadAt(start, 0)
	if !isCompressed(start[:n]) {
		return handle, func() error { return nil }, nil, nil
	}
	in, err := decompressed(io.NewSectionReader(handle, 0, wholeFile))
	if err != nil {
		return nil, nil, nil, err
	}
	defer in.Close()
	out, err := newUnnamed()
	if err != nil {
		return nil, nil, nil, err
	}
	rest := &damagedPart{in: in}
	size, err := io.Copy(out, io.LimitReader(rest, mostInArch+1))
	if err == nil && size > mostInArch {
		err = errUnpacked
	}
	if err == nil {
		_, err = out.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, out.Close())
	}
	return out.File, out.Close, rest.err, nil
}

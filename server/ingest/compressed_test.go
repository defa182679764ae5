package ingest

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// bzip2Mail is a message that the standard library cannot write: it has no writer for bzip2.
const bzip2Mail = "BZh91AY&SY\xbaG\x1a]\x00\x00\n\xdf\x80\x00\x10@\x03\x10\x15E\"\x0c\x00;\xb3\xde\x90 \x00Ta\x93&\x04\xd3\x00\x02z\r\x14\xc8\xd0\xd3\x11\xa3\xd4h\xd3\xd4\x0e\xb7\x9a6\xf2D.\xa2\xaey\xa63|L]Y\x85g\x87\x80\xd4J\xb0\x0bI;\xee\xd8J\x1a\x1c4a\xd0i\xcc\xef_\x85\xbd\xd8\xbb\x92)\xc2\x84\x85\xd28\xd2\xe8"

func gzipped(t testing.TB, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := io.WriteString(w, text)
	must(t, err)
	must(t, w.Close())
	return out.String()
}

func zstded(t testing.TB, text string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	must(t, err)
	return string(w.EncodeAll([]byte(text), nil))
}

func TestCompressedMail(t *testing.T) {
	box := mboxOf(mailOf("m1", "Box", first, "in a box"), mailOf("m2", "Re: Box", second, "a reply", "References: <m1@acme.com>"))
	whole := gzipped(t, mailOf("cut", "Cut", first, strings.Repeat("a long text ", 100_000)+"its end"))
	l := newLibrary(t, map[string]string{
		"d/md/cur/1.h,S=3:2,S": mailOf("plain", "Plain", first, "as it is"), "d/md/cur/2.h:2,S": gzipped(t, mailOf("gz", "Gzip", first, "of gzip")),
		"d/md/new/3.h": bzip2Mail, "d/md/new/4.h": zstded(t, mailOf("zst", "Zstd", first, "of zstd")), "d/md/new/5.h": "\xfd7zXZ\x00\x00\x04", "d/md/new/6.h": "Dovecot-LZ4\r*\x9b",
		"d/md/new/7.h": whole[:len(whole)/2], "d/md/new/8.h": gzipped(t, mailOf("big", "Big", first, strings.Repeat("0", largestFile), "Content-Type: image/png")),
		"d/a.mbox.gz": gzipped(t, box), "d/2024-March.txt.gz": gzipped(t, box), "d/b.mbox.zst": zstded(t, box), "d/c.eml.gz": gzipped(t, mailOf("c", "Alone", first, "alone")),
		"d/d.mbox.gz": gzipped(t, box)[:100], "d/e.mbox.gz": "\x1f\x8b\x08bad", "d/table.csv.gz": gzipped(t, "a,b"), "d/f.mbox.xz": "\xfd7zXZ\x00",
	})
	l.add(Options{}, "d")
	l.want("d/c.eml.gz", "d/md!plain@acme.com", "d/md!gz@acme.com", "d/md!two@acme.com", "d/md!zst@acme.com", "d/md!cut@acme.com", "d/md!big@acme.com",
		"d/a.mbox.gz!m1@acme.com", "d/2024-March.txt.gz!m1@acme.com", "d/b.mbox.zst!m1@acme.com")
	if got := l.textOf("d/a.mbox.gz!m1@acme.com"); !strings.Contains(got, "in a box") || !strings.Contains(got, "a reply") {
		t.Errorf("%q", got)
	}
	if got := l.textOf("d/md!two@acme.com"); !strings.Contains(got, "of bzip2") {
		t.Errorf("%q", got)
	}
	if got := l.textOf("d/md!cut@acme.com"); !strings.Contains(got, "a long text") || strings.Contains(got, "its end") {
		t.Errorf("%d bytes", len(got))
	}
	reasons := ""
	for _, event := range l.events.all {
		reasons += event.Path + ": " + event.Reason + "\n"
	}
	for _, want := range []string{"5.h: it is compressed with xz", "6.h: it is compressed with LZ4", "larger than 64 MB", "d/e.mbox.gz", "does not read .gz files", "does not read .xz files", "7.h: it is damaged", "the rest: it is damaged"} {
		if !strings.Contains(reasons, want) {
			t.Errorf("%q is not reported:\n%s", want, reasons)
		}
	}
	l.counts(l.sync(), 0, 0, 0, len(l.idx.documents))
}

func TestFoldersOfMH(t *testing.T) {
	l := newLibrary(t, map[string]string{
		"Mail/inbox/1": mailOf("one", "Plan", first, "the first"), "Mail/inbox/12": mailOf("two", "Re: Plan", second, "the reply", "References: <one@acme.com>"),
		"Mail/inbox/,3": mailOf("gone", "Gone", first, "deleted"), "Mail/inbox/.mh_sequences": "unseen: 12", "Mail/inbox/work/7": gzipped(t, mailOf("w", "Work", first, "compressed")),
		"Mail/inbox/work/8": mailOf("v", "Work too", first, "beside"), "years/2023": "The report of 2023.", "years/2024": "Subject: of the report\n\nis the year", "files/1": mailOf("x", "X", first, "x"), "files/a.md": "a", "files/b.md": "b",
	})
	l.add(Options{}, "Mail", "years", "files")
	l.want("Mail/inbox!one@acme.com", "Mail/inbox/work!w@acme.com", "Mail/inbox/work!v@acme.com", "years/2023", "years/2024", "files/1", "files/a.md", "files/b.md")
	if got := l.textOf("Mail/inbox!one@acme.com"); !strings.Contains(got, "the first") || !strings.Contains(got, "the reply") {
		t.Errorf("%q", got)
	}
	if doc := l.document("Mail/inbox/work!w@acme.com"); doc.Source != mailSource || doc.Title != "Work" {
		t.Errorf("%+v", doc)
	}
}

// FuzzDecompressed reads any data: what is compressed is unpacked within the bound, other data stays.
func FuzzDecompressed(f *testing.F) {
	for _, seed := range []string{"plain", gzipped(f, "x"), zstded(f, "x"), bzip2Mail, gzipped(f, "x")[:15], "BZh91AY&SY", "\xfd7zXZ\x00", ""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := decompressed(bytes.NewReader(data))
		if err != nil {
			return
		}
		defer in.Close()
		const most = 1 << 20
		got, err := io.ReadAll(io.LimitReader(&damagedPart{in: in}, most))
		if err != nil || !isCompressed(data) && !bytes.Equal(got, data[:min(len(data), most)]) {
			t.Errorf("%q became %q, %v", data, got, err)
		}
	})
}

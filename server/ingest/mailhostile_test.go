package ingest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"quarry/internal/testkit/longtest"
	"quarry/server/index"
)

// hostileMail returns messages that are made to harm, by name.
func hostileMail() map[string]string {
	var headers, references strings.Builder
	for i := range longtest.Rounds(30_000, 1_000_000) {
		fmt.Fprintf(&headers, "X-%d: y\n", i)
	}
	long := longtest.Rounds(400_000, 2_000_000)
	for i := range 100_000 {
		fmt.Fprintf(&references, " <%d@acme.com>", i)
	}
	nested := "the core"
	for i := range 1_000 {
		nested = fmt.Sprintf("Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n%s\n--b%d--\n", i, i, nested, i)
	}
	return map[string]string{
		"a million fields":     mailOf("h1", "Headers", first, "text") + "\n\n" + headers.String()[:min(1<<20, headers.Len())],
		"a million fields too": headers.String() + mailOf("h2", "Headers", first, "text"),
		"references":           mailOf("h3", "References", first, "refers to much", "References:"+references.String()),
		"cycle":                mailOf("h4", "Cycle", first, "refers to another", "References: <h5@acme.com>"),
		"cycle back":           mailOf("h5", "Cycle", second, "and back", "References: <h4@acme.com> <h5@acme.com>"),
		"nested":               "Message-ID: <h6@acme.com>\nSubject: Nested\n" + nested,
		"no header":            "just words\nand more\n",
		"no fields":            "\n\nonly text",
		"no end":               "Subject: x",
		"odd id":               "Message-ID: \x1b]0;x\x07\u202e <> <../../etc/passwd%2F>\nSubject: \x1b[31mred\nFrom: <\x00>\nDate: Fri, 99 Xyz 99999\n\ntext\x1b[2J",
		"long id":              mailOf(strings.Repeat("i", 100_000), "Long id", first, "has a long id"),
		"long lines":           mailOf("h7", strings.Repeat("s", long), first, strings.Repeat("word ", long/5)),
		"binary":               mailOf("h8", "Binary", first, strings.Repeat("\x00\xff\xfe", 1000)),
		"bad base64":           mailOf("h9", "Base64", first, "====!!!!", "Content-Transfer-Encoding: base64"),
		"links":                mailOf("h10", "Links", first, "x", "Archived-At: <javascript:alert(1)>", "List-Archive: <file:///etc/passwd>"),
		"labels":               mailOf("h11", "Labels", first, "x", "X-Gmail-Labels: "+strings.Repeat("a,b\x1b,", 50_000)),
	}
}

// TestHostileMail reads each message alone and all of them together, as mbox file and as Maildir.
func TestHostileMail(t *testing.T) {
	hostile := hostileMail()
	var all []string
	for _, message := range hostile {
		all = append(all, message)
	}
	hostile["all"] = mboxOf(all...)
	for name, message := range hostile {
		t.Run(name, func(t *testing.T) {
			l := newLibrary(t, map[string]string{"md/new/1.host": message, "md/cur/2.host:2,": mailOf("good", "Good", first, "a good message")})
			l.write("m.mbox", mboxOf(mailOf("good", "Good", first, "a good message"), message))
			l.add(Options{}, "md", "m.mbox")
			l.document("md!good@acme.com")
			l.document("m.mbox!good@acme.com")
			for id, doc := range l.idx.documents { // the fake engine checks the rest
				if strings.HasPrefix(doc.Link, "javascript") || strings.Contains(doc.Link, "passwd") || strings.ContainsAny(doc.Title+doc.ID, "\x1b\x07\u202e") || len(id) > longestID {
					t.Errorf("%q: link %q, title %q", id, doc.Link, doc.Title)
				}
			}
		})
	}
}

// TestMemoryOfAMailbox reads an mbox file of 30,000 messages and one with an attachment of 1 GB, within the bound of
// docs/library.md for one file. The short form has an attachment of 128 MB, and room for less than that.
func TestMemoryOfAMailbox(t *testing.T) {
	messages, attachment, bound := 3_000, int64(128<<20), int64(100<<20)
	if longtest.Enabled() {
		messages, attachment, bound = 30_000, 1<<30, 400<<20
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as in the program; `make test` collects less often
	path := filepath.Join(t.TempDir(), "big.mbox")
	file, err := os.Create(path)
	must(t, err)
	defer file.Close()
	var small bytes.Buffer
	for i := range messages {
		small.WriteString(mboxOf(mailOf(fmt.Sprint(i), "Subject", first, "text", fmt.Sprintf("References: <%d@acme.com>", i/3*3))))
	}
	small.WriteString("From ana@acme.com Fri Mar  1 08:00:00 2024\nSubject: Big\nMessage-ID: <big>\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nthe text\n" +
		"--b\nContent-Disposition: attachment; filename=big.txt\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString([]byte("start")))
	_, err = file.Write(small.Bytes())
	must(t, err)
	must(t, file.Truncate(int64(small.Len())+attachment))
	_, err = file.WriteAt([]byte("\n\n"+mboxOf(mailOf("last", "Last", first, "the last"))), int64(small.Len())+attachment)
	must(t, err)
	info, err := file.Stat()
	must(t, err)
	small = bytes.Buffer{}

	read := newTask(foundFile{path: path, info: info, format: format{container: &mboxFile}}, &target{path: path}, fileState{})
	read.ahead = newBacklog(t.Context(), func(err error) { t.Error(err) })
	reader := newFileReader(t.Context(), nil)
	runtime.GC() // what other tests left
	go reader.read(read)
	var stats runtime.MemStats
	var highest int64
	runtime.ReadMemStats(&stats)
	before, documents, skipped := int64(stats.HeapSys), 0, []string(nil)
	for part := range read.parts {
		runtime.ReadMemStats(&stats)
		highest = max(highest, int64(stats.HeapAlloc), int64(stats.HeapSys)-before)
		documents += len(part.documents)
		skipped = append(skipped, part.skipped...)
	}
	t.Logf("at most %d MB in use", highest>>20)
	if want := messages/3 + 2; documents != want || highest > bound || len(skipped) != 1 || !strings.Contains(skipped[0], "larger than 64 MB") {
		t.Errorf("%d documents, %d MB, skipped %q", documents, highest>>20, skipped)
	}
}

// TestPanicCostsOneMessage reads a mailbox and a Takeout where the reader of a format panics.
func TestPanicCostsOneMessage(t *testing.T) {
	attached := mailOf("b", "Attached", first, "--b\n\ntext\n--b\nContent-Disposition: attachment; filename=x.bad\n\ny\n--b--", "Content-Type: multipart/mixed; boundary=b")
	l := newLibrary(t, map[string]string{"m.mbox": mboxOf(mailOf("a", "One", first, "one"), attached, mailOf("c", "Three", first, "three")),
		"Takeout/Drive/x.bad": "x", "Takeout/Drive/y.md": "y"})
	for path, want := range map[string]string{"m.mbox": `"Attached" (2024-03-01): reading it failed: bad`, "Takeout": "Drive/x.bad: reading it failed: bad"} {
		info, err := os.Stat(l.path(path))
		must(t, err)
		file := foundFile{path: l.path(path), info: info, format: format{container: &mboxFile}}
		root := &target{path: l.folder}
		if info.IsDir() {
			file.format.container, file.name, file.inner = &takeout, path, []string{"Drive/x.bad", "Drive/y.md"}
		}
		root.folder, err = os.OpenRoot(l.folder)
		must(t, err)
		defer root.folder.Close()
		if file.name == "" {
			file.name = path
		}
		reader := newFileReader(t.Context(), nil)
		reader.formatOf = func(name string) (format, string) {
			switch {
			case !strings.HasSuffix(name, ".bad"):
				return formatOf(name)
			case path == "m.mbox":
				panic("bad")
			}
			return format{name: "bad", text: func(*fileReader, string, index.Document) extracted { panic("bad") }}, ""
		}
		read := newTask(file, root, fileState{})
		read.ahead = newBacklog(t.Context(), func(err error) { t.Error(err) })
		go reader.read(read)
		documents, skipped := 0, []string(nil)
		for part := range read.parts {
			documents += len(part.documents)
			skipped = append(skipped, part.skipped...)
		}
		if wantDocuments := map[string]int{"m.mbox": 2, "Takeout": 1}[path]; documents != wantDocuments || len(skipped) != 1 || skipped[0] != want {
			t.Errorf("%s: %d documents, %q", path, documents, skipped)
		}
	}
}

func TestTextOfAnUploadedMailbox(t *testing.T) {
	got, err := TextOf(t.Context(), nil, "m.mbox", []byte(mboxOf(smallMailbox()...)))
	if err != nil || !strings.Contains(got, "With the lever.") || !strings.Contains(got, "the crank") {
		t.Errorf("%v: %q", err, got)
	}
}

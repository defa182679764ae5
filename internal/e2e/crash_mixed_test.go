package e2e

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quarry/internal/testkit/filetest"
	"quarry/internal/testkit/longtest"
)

// mixed returns the files of a tree in the order in which they are read, and how many documents each has. A container counts
// as one file.
func mixed() [5]mixedPart {
	archive, export, lines, notes := 6*mixedThreads(), 7*mixedThreads(), longtest.Rounds(60, 1_500), longtest.Rounds(30, 300)
	return [...]mixedPart{{"archive.zip", 1, archive}, {"book.docx", 1, 1}, {"export", 1, export}, {"lines.jsonl", 1, lines}, {"notes", notes, notes}}
}

type mixedPart struct {
	name             string
	files, documents int
}

// mixedThreads is how many threads a day of the archive and of the export has.
func mixedThreads() int { return longtest.Rounds(5, 100) }

// writeMixed writes the tree with a word of the round in each document.
func writeMixed(t *testing.T, folder string, round int) {
	t.Helper()
	word := roundWord(round)
	export := func(days, threads int) (files []filetest.Part) {
		for day := range days {
			var messages []string
			for i := range threads {
				messages = append(messages, fmt.Sprintf(`{"user":"U1","ts":"%d.%06d","reply_count":1,"text":"%s thread %d"}`, 1709280000+86400*day, i, word, i))
			}
			files = append(files, filetest.Part{Name: fmt.Sprintf("general/2024-03-%02d.json", day+1), Content: "[" + strings.Join(messages, ",") + "]"})
		}
		return append(files, filetest.Part{Name: "users.json", Content: `[{"id":"U1","name":"ana"}]`},
			filetest.Part{Name: "channels.json", Content: `[{"id":"C1","name":"general"}]`})
	}
	writeIn(t, folder, "archive.zip", filetest.Archive(export(6, mixedThreads())...))
	writeIn(t, folder, "book.docx", filetest.DOCX(filetest.Paragraph("", word)))
	for _, file := range export(7, mixedThreads()) {
		writeIn(t, folder, "export/"+file.Name, []byte(file.Content))
	}
	var lines strings.Builder
	for i := range mixed()[3].documents {
		fmt.Fprintf(&lines, `{"id":"line-%d","source":"web","sections":[{"text":"%s line %d"}]}`+"\n", i, word, i)
	}
	writeIn(t, folder, "lines.jsonl", []byte(lines.String()))
	for i := range mixed()[4].documents {
		writeIn(t, folder, fmt.Sprintf("notes/note-%03d.md", i), fmt.Appendf(nil, "# Note %d\n\n%s note %d\n", i, word, i))
	}
}

// documentsOf returns how many documents the first files of the mixed tree have.
func documentsOf(files int) (documents int) {
	for _, of := range mixed() {
		if of.files > files {
			return documents + files
		}
		files, documents = files-of.files, documents+of.documents
	}
	return documents
}

// TestKillWithContainers kills add, sync and remove at random moments, on a tree of files, an archive, an export and lines
// of documents. What was reported as done must stay, the same command must complete the work, and in the end the library
// must be that of a run that was never killed.
func TestKillWithContainers(t *testing.T) {
	t.Parallel()
	rounds := longtest.Rounds(3, 150) // of add, sync and remove in turn
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 3))
	h := newHome(t)
	folder := filepath.Join(h.dir, "documents")
	writeMixed(t, folder, 0)
	all := documentsOf(1 << 20)
	whole := map[string]time.Duration{}
	timed := func(command ...string) { whole[command[0]] = h.timed(command...) }
	timed("add", "--json", folder)
	checkContent(t, h, 0, all)
	for round := 1; round <= rounds; round++ {
		command := []string{"add", "sync", "remove"}[round%3]
		if command != "remove" {
			writeMixed(t, folder, round)
		}
		limit := int64(cmp.Or(whole[command], whole["add"]/2))
		acknowledged := killed(t, h, time.Duration(random.Int64N(limit)), command, "--json", folder)
		t.Logf("round %d: %s killed after %d files", round, command, acknowledged)
		documents := libraryStatus(t, h).Documents
		if command != "remove" {
			if found := matches(t, h, roundWord(round)); found < documentsOf(acknowledged) || documents != all {
				t.Fatalf("round %d: %d files were acknowledged by %s, %d of at least %d documents are found, %d of %d are there", round,
					acknowledged, command, found, documentsOf(acknowledged), documents, all)
			}
			timed(command, "--json", folder)
			checkContent(t, h, round, all)
			continue
		}
		if documents > 0 { // else the killed command had removed the folder itself
			timed(command, "--json", folder)
		}
		if left := libraryStatus(t, h); left.Documents != 0 {
			t.Fatalf("round %d: %d documents are left", round, left.Documents)
		}
		writeMixed(t, folder, round)
		timed("add", "--json", folder)
		checkContent(t, h, round, all)
	}
	clean := newHome(t)
	clean.must("add", "--json", folder)
	if got, want := listing(t, h), listing(t, clean); got != want {
		t.Errorf("after kills the library has\n%.2000s\na run that was not killed has\n%.2000s", got, want)
	}
	h.must("status", "--check", "--json")
	checkNoTemporaryFiles(t, h)
}

// checkContent checks that each document is there once, as of the round.
func checkContent(t *testing.T, h home, round, all int) {
	t.Helper()
	if documents, found := libraryStatus(t, h).Documents, matches(t, h, roundWord(round)); documents != all || found != all {
		t.Fatalf("round %d: %d documents and %d found, want %d", round, documents, found, all)
	}
}

// listing returns the documents of a library with their text.
func listing(t *testing.T, h home) string {
	t.Helper()
	var out strings.Builder
	for _, words := range []string{"thread", "line", "note"} {
		var answer struct {
			Results []struct{ Ref, Title, Content, Link string }
		}
		decode(t, h.must("search", words, "--limit", "100", "--max-output", "10000000"), &answer)
		for _, r := range answer.Results {
			fmt.Fprintf(&out, "%s %s %s %s\n", r.Ref, r.Title, r.Link, r.Content)
		}
	}
	return out.String()
}

package ingest

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"quarry/client/wire"
	"quarry/internal/guard"
)

// smallTakeout is an export of a Google account.
func smallTakeout() map[string]string {
	return map[string]string{
		"archive_browser.html": "<h1>Contents</h1>",
		"Mail/All mail.mbox": mboxOf(mailOf("a", "Plan", first, "the plan", "X-GM-THRID: 1", "X-Gmail-Labels: Inbox"),
			mailOf("b", "Re: Plan", second, "agreed", "X-GM-THRID: 1")),
		"Mail/Work.mbox":                  mboxOf(mailOf("a", "Plan", first, "the plan", "X-GM-THRID: 1"), mailOf("c", "Pay", first, "raised", "X-GM-THRID: 2")),
		"Mail/User Settings/Blocked.json": `{"blocked":[]}`,
		"Drive/Team/Roadmap.md":           "# Roadmap\n\nship it",
		"Drive/data.json":                 `{"kept": true}`,
		"Drive/photo.jpg":                 "\xff\xd8\xff",
		"Calendar/Jo.ics":                 "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Standup\nDTSTART:20240301T080000Z\nEND:VEVENT\nEND:VCALENDAR\n",
		"Keep/List.json": `{"title":"","textContent":"","listContent":[{"text":"milk","isChecked":true},{"text":"bread"}],"labels":[{"name":"Home"}],
			"annotations":[{"title":"Shop","url":"https://shop.example"},{"title":"Odd","url":"javascript:x"}],"createdTimestampUsec":1709280000000000,"userEditedTimestampUsec":1709366400000000}`,
		"Keep/List.html":                "<p>milk</p>",
		"Keep/Gone.json":                `{"title":"Gone","textContent":"secretly","isTrashed":true,"userEditedTimestampUsec":1709366400000000}`,
		"Keep/Bad.json":                 `{"title":`,
		"Google Photos/Trip/1.jpg":      "\xff\xd8\xff",
		"Google Photos/Trip/1.jpg.json": `{"title":"1.jpg"}`,
		"Contacts/All/All.vcf":          "BEGIN:VCARD\nVERSION:3.0\nFN:Ana Ortiz\nitem1.EMAIL;TYPE=INTERNET:ana@acme.com\nORG:Acme;R\\;D\nTITLE:Engineer\nEND:VCARD\n",
	}
}

func TestTakeout(t *testing.T) {
	l := newLibrary(t, inFolder("x/Takeout", smallTakeout()))
	l.write("x/takeout-001.zip", zipped(t, inFolder("Takeout", smallTakeout())))
	l.counts(l.add(Options{}, "x"), 14, 0, 0, 0)
	for _, root := range []string{"x/Takeout", "x/takeout-001.zip"} {
		for inner, want := range map[string][3]string{"a@acme.com": {"gmail", "Plan", "agreed"}, "c@acme.com": {"gmail", "Pay", "raised"},
			"Drive/Team/Roadmap.md": {"google_drive", "Roadmap", "ship it"}, "Drive/data.json": {"google_drive", "data.json", "kept"},
			"Calendar/Jo.ics": {"file", "Standup", "2024-03-01"}, "Keep/List.json": {"file", "☑ milk", "☐ bread"}, "Contacts/All/All.vcf": {"file", "Ana Ortiz", "Title: Engineer"}} {
			doc, text := l.document(root+"!"+inner), l.textOf(root+"!"+inner)
			if doc.Source != want[0] || doc.Title != want[1] || !strings.Contains(text, want[2]) || doc.Origin != l.path(root) {
				t.Errorf("%s!%s: %s %q %q", root, inner, doc.Source, doc.Title, text)
			}
		}
		note := l.document(root + "!Keep/List.json")
		if note.Type != "note" || note.UpdatedAt.Format("2006-01-02") != "2024-03-02" || !strings.Contains(note.Chunks[0].Text, "https://shop.example") || strings.Contains(note.Chunks[0].Text, "javascript") {
			t.Errorf("note %+v", note)
		}
		var reasons []string
		for _, event := range l.events.all {
			if event.Type == wire.LibrarySkipped && event.Path == l.path(root) {
				reasons = append(reasons, event.Reason)
			}
		}
		if want := []string{"Drive: 1 file not read: 1 .jpg", "Google Photos: 2 files not read: 1 .jpg, 1 .json",
			"Keep: 1 file not read: 1 .json", "Mail: 1 file not read: 1 .json"}; !slices.Equal(reasons, want) {
			t.Errorf("%s: %q", root, reasons)
		}
	}
	status, err := Status(t.Context(), l.idx)
	must(t, err)
	if len(status.Taken) != 2 || status.Taken[0].Kind != "Google Takeout export" {
		t.Errorf("taken %+v", status.Taken)
	}
	l.counts(l.sync(), 0, 0, 0, 14)
	l.add(Options{}, "x/Takeout")
	if roots := (libraryIndex{t.Context(), l.idx}).loadRoots(); roots[l.path("x")].Source != "file" {
		t.Errorf("roots %+v", roots)
	}
}

func TestIsTakeout(t *testing.T) {
	for names, want := range map[string]bool{
		"Takeout Mail/a.mbox": true, "Takeout Drive/a": true, "x Mail/a archive_browser.html": true, "Takeout archive_browser.html Google-Kalender/a": true,
		"Takeout menu.pdf": false, "x Mail/a": false, "x archive_browser.html": false, "Takeout Menus/a": false,
	} {
		folder := fstest.MapFS{}
		fields := strings.Fields(names)
		for _, name := range fields[1:] {
			folder[name] = &fstest.MapFile{}
		}
		entries, err := folder.ReadDir(".")
		must(t, err)
		if got := isTakeout(newLayout(folder, fields[0], entries)); got != want {
			t.Errorf("%s: %v", names, got)
		}
	}
}

// TestFullDiskKeepsTheMail fails to unpack a mailbox: its documents stay, and the next sync reads it.
func TestFullDiskKeepsTheMail(t *testing.T) {
	l := newLibrary(t, map[string]string{"t.zip": zipped(t, inFolder("Takeout", smallTakeout()))})
	l.counts(l.add(Options{}, "t.zip"), 7, 0, 0, 0)
	l.dated = l.dated.Add(1e9)
	l.write("t.zip", zipped(t, inFolder("Takeout", smallTakeout())))
	t.Setenv("TMPDIR", l.path("none"))
	l.sync()
	if len(l.idx.documents) != 7 {
		t.Errorf("%d documents", len(l.idx.documents))
	}
	l.wantReason("t.zip", "unpack Mail/All mail.mbox: no such file or directory")
	t.Setenv("TMPDIR", l.folder)
	l.counts(l.sync(), 0, 0, 0, 7)
	if left, _ := fs.Glob(os.DirFS(l.folder), "quarry-*"); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

func TestUnnamedFileHasNoName(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	file, err := newUnnamed()
	must(t, err)
	if _, err := os.Stat(file.Name()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	must(t, file.Close())
}

// FuzzMailFolders reads any bytes as the files of a Takeout and as a message of a Maildir, whose folder any name is.
func FuzzMailFolders(f *testing.F) {
	for _, text := range smallTakeout() {
		f.Add(".Work.2024", []byte(text))
	}
	f.Add(".Gel&APY-scht", []byte(mailOf("a", "Plan", first, "the plan")))
	f.Add(".&&--", []byte("Subject: x\n\n"))
	reader := newFileReader(f.Context(), nil)
	f.Fuzz(func(t *testing.T, folder string, data []byte) {
		message := folder + "/cur/1:2,S"
		if len(data) > 1<<16 || !fs.ValidPath(message) {
			return
		}
		export := fstest.MapFS{}
		for name := range smallTakeout() {
			export[name] = &fstest.MapFile{Data: data}
		}
		for kind, files := range map[*container]fstest.MapFS{&takeout: export, &maildir: {message: {Data: data}}} {
			info, err := fs.Stat(files, ".")
			must(t, err)
			c := &collector{fileReader: reader, task: newTask(foundFile{path: "/x", info: info}, &target{}, fileState{})}
			c.innerFiles = innerFiles{fs: files, names: slices.Sorted(maps.Keys(files)), left: largestFile, seen: map[string]bool{}}
			must(t, guard.Ended(func() { kind.read(c) }))
			ids := map[string]bool{}
			for _, doc := range c.part.documents {
				if ids[doc.ID] || !utf8.ValidString(doc.Title) || len(doc.Title) > longestTitle {
					t.Fatalf("%q, titled %q", doc.ID, doc.Title)
				}
				ids[doc.ID] = true
			}
		}
	})
}

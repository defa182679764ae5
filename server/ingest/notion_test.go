package ingest

import (
	"archive/zip"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/testkit/filetest"
	"quarry/server/index"
)

// Ids of pages, in the names of an export.
const (
	homeID  = "0123456789abcdef0123456789abcdef"
	tasksID = "11111111111111111111111111111111"
	shipID  = "22222222222222222222222222222222"
	guideID = "33333333333333333333333333333333"
)

// notionMarkdown is an export as Notion writes it, with ids in the names of folders as until 2023, or without.
func notionMarkdown(folderIDs bool) map[string]string {
	home, tasks := "Team home", "Tasks"
	if folderIDs {
		home, tasks = home+" "+homeID, tasks+" "+tasksID
	}
	return map[string]string{
		"Team home " + homeID + ".md": "# Team home 🏠\n\nRead the [guide](Team%20home/Guide%20(new)%20" + guideID + ".md) and [Acme](https://acme.example/" + guideID + ".md).\n\n" +
			"[Tasks](Team%20home/Tasks%20" + tasksID + ".csv)\n",
		home + "/Guide (new) " + guideID + ".md":               "# Guide (new)\n\nNote: the first line of this page is no property.\n\n## Steps\n\nTurn the quokka wheel.\n",
		home + "/Tasks " + tasksID + ".csv":                    "\uFEFFName,Status,Tags,Assignee,Created,Last edited time\nShip it,Done,\"ops, launch\",Ana Ortiz,\"March 5, 2024 9:00 AM\",\n",
		home + "/Tasks " + tasksID + "_all.csv":                "\uFEFFName,Status,Tags,Owner,Created,Last edited time,Project\nShip it,Done,\"ops, launch\",Ana Ortiz,\"March 5, 2024 9:00 AM\",,\nHidden row,Open,,,,,\n",
		home + "/" + tasks + "/Ship it " + shipID + ".md":      "# Ship it\n\nStatus: Done\nTags: ops, launch\nOwner: Ana Ortiz\nCreated: March 5, 2024 9:00 AM\nLast edited time: March 6, 2024 1:30 PM\nProject: Alpha (../Alpha%20" + guideID + ".md)\n\nCall the numbat first.\n",
		home + "/" + tasks + "/Ship it/plan.docx":              string(filetest.DOCX(filetest.Paragraph("", "the plan of the wombat"))),
		home + "/" + tasks + "/Ship it/Untitled.png":           "\x89PNG",
		home + "/Not a property " + shipID[:31] + "3" + ".md":  "# Not a property\n\nfirst: one\nsecond without\n\nend\n",
		home + "/Single property " + shipID[:31] + "4" + ".md": "# Single property\n\nfirst: one\n\nend\n",
		home + "/Some properties " + shipID[:31] + "5" + ".md": "# Some properties\n\nStage: Draft\nLabels: a, b\n\nend\n",
		home + "/Empty " + shipID[:31] + "6" + ".md":           "",
		"__MACOSX/._Team home " + homeID + ".md":               "\x00\x05",
		home + "/.hidden/Page " + shipID[:31] + "7" + ".md":    "# Page",
		"Private page " + shipID[:31] + "8" + ".md":            "# Private page\n\ntext",
		"index.html": "<title>Workspace sitemap</title>",
	}
}

func notionHTML() map[string]string {
	page := func(id, title, properties, body string) string {
		uuid := strings.Join([]string{id[:8], id[8:12], id[12:16], id[16:20], id[20:]}, "-")
		return `<html><head><meta charset="utf-8"/><title>` + title + `</title><style>` + strings.Repeat("/* style */", 1000) + `</style></head><body><article id="` + uuid +
			`" class="page sans"><header><h1 class="page-title">` + title + `</h1>` + properties + `</header><div class="page-body">` + body + `</div></article></body></html>`
	}
	row := func(kind, name, value string) string {
		return `<tr class="property-row property-row-` + kind + `"><th><span class="icon"><svg><path/></svg></span>` + name + `</th><td>` + value + `</td></tr>`
	}
	return map[string]string{
		"Team home " + homeID + ".html":        page(homeID, "Team home 🏠", "", `<p><a href="Team%20home/Guide%20`+guideID+`.html#x">guide</a></p>`),
		"Team home/Guide " + guideID + ".html": page(guideID, "Guide", "", "<h2>Steps</h2><p>Turn the quokka wheel.</p>"),
		"Team home/Tasks/Ship it " + shipID + ".html": page(shipID, "Ship it", `<table class="properties"><tbody>`+row("status", "Status", `<span class="selected-value">Done</span>`)+
			row("multi_select", "Tags", `<span class="selected-value">ops</span><span class="selected-value">launch</span>`)+row("checkbox", "Sold", `<div class="checkbox checkbox-on"></div>`)+
			row("created_by", "Made by", `<span class="user">Ortiz, Ana</span>`)+row("created_time", "Made", `<time>@March 5, 2024 9:00 AM</time>`)+
			row("last_edited_time", "Changed", `<time>@March 6, 2024 1:30 PM</time>`)+`</tbody></table>`, "<p>Call the numbat first.</p>"),
	}
}

// nestedExport puts an export into two archives in an archive.
func nestedExport(t *testing.T, files map[string]string) string {
	first, second := map[string]string{}, map[string]string{}
	for i, name := range slices.Sorted(maps.Keys(files)) {
		if i%2 == 0 {
			first[name] = files[name]
		} else {
			second[name] = files[name]
		}
	}
	const block = "ExportBlock-01234567-89ab-cdef-0123-456789abcdef-Part-%d.zip"
	return zipped(t, map[string]string{fmt.Sprintf(block, 1): zipped(t, first), fmt.Sprintf(block, 2): zipped(t, second)})
}

func TestNotionExport(t *testing.T) {
	exports := map[string]func(l *library) string{
		"folder": func(l *library) string {
			for name, text := range inFolder("n", notionMarkdown(true)) {
				l.write(name, text)
			}
			return "n"
		},
		"archive": func(l *library) string {
			l.write("n.zip", zipped(t, notionMarkdown(false)))
			return "n.zip"
		},
		"archive with a folder": func(l *library) string {
			l.write("n.zip", zipped(t, inFolder("Export-1", notionMarkdown(true))))
			return "n.zip"
		},
		"workspace": func(l *library) string {
			l.write("n.zip", zipped(t, inFolder("Private & Shared", notionMarkdown(false))))
			return "n.zip"
		},
		"parts": func(l *library) string {
			l.write("n.zip", nestedExport(t, notionMarkdown(false)))
			return "n.zip"
		},
	}
	for form, store := range exports {
		t.Run(form, func(t *testing.T) {
			l := newLibrary(t, nil)
			root := store(l)
			done := l.add(Options{}, root)
			above := ""
			if form == "workspace" {
				above = "Private & Shared "
			}
			attachment := root + "!" + strings.Replace(above, "d ", "d/", 1)
			if attachment += "Team home"; form == "folder" || form == "archive with a folder" {
				attachment += " " + homeID + "/Tasks " + tasksID
			} else {
				attachment += "/Tasks"
			}
			if l.counts(done, 9, 0, 0, 0); done.Skipped > 1 {
				t.Errorf("skipped %v", l.events.skipped())
			}
			for _, test := range []struct{ id, title, path, link, text string }{
				{homeID, "Team home 🏠", "", notionAddress + homeID, "[guide](" + notionAddress + guideID + ") and [Acme](https://acme.example/" + guideID + ".md)"},
				{guideID, "Guide (new)", "Team home", notionAddress + guideID, "quokka wheel"},
				{tasksID + ".csv", "Tasks", "Team home", notionAddress + tasksID, "Hidden row"},
				{shipID, "Ship it", "Team home Tasks", notionAddress + shipID, "Call the numbat"},
			} {
				doc := l.document(root + "!" + test.id)
				var text strings.Builder
				for _, chunk := range doc.Chunks {
					text.WriteString(chunk.Text)
				}
				if got := strings.Join(doc.Path, " "); doc.Title != test.title || got != strings.TrimSpace(above+test.path) || doc.Link != test.link ||
					!strings.Contains(text.String(), test.text) || doc.Source != "notion" {
					t.Errorf("%s: %+v", test.id, doc)
				}
			}
			if doc := l.document(attachment + "/Ship it/plan.docx"); doc.Source != "notion" || !strings.Contains(doc.Chunks[0].Text, "wombat") || doc.Path[len(doc.Path)-1] != "Ship it" {
				t.Errorf("attachment %+v", doc)
			}
			ship := l.document(root + "!" + shipID)
			created, edited := time.Date(2024, 3, 5, 9, 0, 0, 0, time.UTC), time.Date(2024, 3, 6, 13, 30, 0, 0, time.UTC)
			if got := fmt.Sprint(ship.Authors, ship.Metadata); got != "[{Ana Ortiz }] [{Status [Done] false} {Tags [ops launch] true} {Project [Alpha] false}]" ||
				!ship.CreatedAt.Equal(created) || !ship.UpdatedAt.Equal(edited) {
				t.Errorf("properties %s, %v, %v", got, ship.CreatedAt, ship.UpdatedAt)
			}
			for last, want := range map[string]string{"3": "", "4": "", "5": "{Stage [Draft] false} {Labels [a b] true} "} {
				if got := fmt.Sprint(l.document(root + "!" + shipID[:31] + last).Metadata); got != "["+want+"{dated_by [file time] false}]" {
					t.Errorf("page %s: %s", last, got)
				}
			}
			if kind := takenFor(l); kind != "Notion export" {
				t.Errorf("taken for %q", kind)
			}
			l.counts(l.sync(), 0, 0, 0, 9)
		})
	}
}

func takenFor(l *library) (kind string) {
	for _, event := range l.events.all {
		if event.Type == wire.LibraryTaken {
			kind = event.Kind
		}
	}
	return kind
}

func TestNotionHTML(t *testing.T) {
	l := newLibrary(t, nil)
	l.write("n.zip", zipped(t, notionHTML()))
	l.counts(l.add(Options{}, "n.zip"), 3, 0, 0, 0)
	if text := l.document("n.zip!" + homeID).Chunks[0].Text; !strings.Contains(text, "[guide]("+notionAddress+guideID+")") {
		t.Errorf("home %q", text)
	}
	ship := l.document("n.zip!" + shipID)
	if got := fmt.Sprint(ship.Title, ship.Path, ship.Authors, ship.Metadata, ship.CreatedAt.Format(time.DateOnly), ship.UpdatedAt.Format(time.DateOnly)); got !=
		"Ship it[Team home Tasks] [{Ortiz, Ana }] [{Status [Done] false} {Tags [ops launch] true} {Sold [yes] false}]2024-03-052024-03-06" {
		t.Errorf("page %s", got)
	}
}

// TestNoNotionExport adds folders with files whose names end like those of an export.
func TestNoNotionExport(t *testing.T) {
	page := "# Report\n\ntext"
	for name, files := range map[string]map[string]string{
		"one page":               {"d/Report " + homeID + ".md": page},
		"other files":            {"d/Report " + homeID + ".md": page, "d/Report " + guideID + ".md": page, "d/notes.md": "x"},
		"another title":          {"d/Sums " + homeID + ".md": page, "d/Sums " + guideID + ".md": page},
		"no id":                  {"d/Report " + homeID[:31] + "g.md": page, "d/Report " + homeID[:31] + ".md": page},
		"HTML of other programs": {"d/Report " + homeID + ".html": "<p>x</p>", "d/Report " + guideID + ".html": "<p>y</p>"},
		"a folder deeper":        {"d/e/Report " + homeID + ".md": page, "d/other.md": page},
		"parts of another kind":  {"d/Part-1.zip": "x"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLibrary(t, files)
			if l.add(Options{}, "d"); takenFor(l) != "" {
				t.Errorf("taken for %s", takenFor(l))
			}
			for id, doc := range l.idx.documents {
				if doc.Source != "file" || strings.Contains(id, "!") {
					t.Errorf("%s of %s", id, doc.Source)
				}
			}
		})
	}
}

// TestHostileNotion adds exports that are made to harm.
func TestHostileNotion(t *testing.T) {
	home := "Team home " + homeID + ".md"
	block := "ExportBlock-01234567-89ab-cdef-0123-456789abcdef-Part-1.zip"
	for name, test := range map[string]struct {
		archive string
		stored  int
	}{
		"paths out of the archive": {zipped(t, map[string]string{home: "# Team home", "../../x " + guideID + ".md": "# x", "/etc/x " + shipID + ".md": "# x"}), 1},
		"a broken part":            {zipped(t, map[string]string{block: "PK\x03\x04 broken"}), 0},
		"a part in a part":         {zipped(t, map[string]string{block: zipped(t, map[string]string{block: "x"})}), 0},
		"many parts":               {zipped(t, manyParts()), 0},
		"parts without pages":      {zipped(t, map[string]string{block: zipped(t, map[string]string{"a.md": "x"})}), 0},
		"escapes": {zipped(t, map[string]string{home: "# Team home\x1b]0;x\x07\n\nA\u202e: b\x1b[31m\nB: c\n\ntext",
			"Team\x1b[2J home/x\u202e " + guideID + ".md": "# x"}), 2},
		"a long line of properties": {zipped(t, map[string]string{home: "# Team home\n\n" + strings.Repeat("A: b\n", 100_000)}), 1},
		"nested parentheses":        {zipped(t, map[string]string{home: "# Team home\n\n" + strings.Repeat("[a](", 50_000)}), 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLibrary(t, nil)
			t.Setenv("TMPDIR", t.TempDir())
			l.write("n.zip", test.archive)
			l.add(Options{}, "n.zip")
			if len(l.idx.documents) != test.stored || test.stored == 0 && len(l.events.skipped()) == 0 {
				t.Errorf("%d documents, skipped %v", len(l.idx.documents), l.events.skipped())
			}
			entries, err := os.ReadDir(os.TempDir())
			must(t, err)
			for _, entry := range entries {
				if strings.HasPrefix(entry.Name(), "quarry-") {
					t.Errorf("left %s", entry.Name())
				}
			}
		})
	}
}

func manyParts() map[string]string {
	parts := map[string]string{}
	for i := range 201 {
		parts[fmt.Sprintf("ExportBlock-01234567-89ab-cdef-0123-456789abcdef-Part-%d.zip", i)] = "x"
	}
	return parts
}

// TestManyFiles adds an archive with more files than may be in one.
func TestManyFiles(t *testing.T) {
	if os.Getenv("QUARRY_SLOW") == "" {
		t.Skip("QUARRY_SLOW is not set")
	}
	l := newLibrary(t, nil)
	file, err := os.Create(l.path("n.zip"))
	must(t, err)
	archive := zip.NewWriter(file)
	for i := range mostInner + 1 {
		_, err := archive.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("a %032x.md", i)})
		must(t, err)
	}
	must(t, archive.Close())
	must(t, file.Close())
	if l.add(Options{}, "n.zip"); len(l.idx.documents) > 0 || l.events.skipped()[l.path("n.zip")] != errEntries.Error() {
		t.Errorf("%d documents, skipped %v", len(l.idx.documents), l.events.skipped())
	}
}

func FuzzNotion(f *testing.F) {
	for _, text := range notionMarkdown(false) {
		f.Add("Page "+homeID+".md", text)
	}
	for name, text := range notionHTML() {
		f.Add(name, text)
	}
	reader := newFileReader(f.Context(), nil)
	f.Fuzz(func(t *testing.T, name, text string) {
		title, id, _ := notionName(name)
		if id != "" && (len(id) != 32 || !strings.HasPrefix(name, title)) {
			t.Errorf("%q: %q %q", name, title, id)
		}
		n := notionReader{reader, map[string][]string{"Tasks": {"Status"}}, map[string]bool{homeID: true, guideID: true}}
		n.relinked(text)
		m := notionProperties(text, nil)
		if _, err := guard.Result(func() index.Document {
			return n.made(n.page(text, n.inspect), index.Document{ID: "x", Source: notionSource})
		}); err == nil && len(m.Metadata) > mostMetadata {
			t.Errorf("%d fields", len(m.Metadata))
		}
	})
}

// TestTasksOfNotion: a task in a page shows whether it is done.
func TestTasksOfNotion(t *testing.T) {
	task := func(state, text string) string {
		return `<ul class="to-do-list"><li><div class="checkbox checkbox-` + state + `"></div> <span>` + text + `</span></li></ul>`
	}
	n := notionReader{fileReader: newFileReader(t.Context(), nil)}
	doc := n.pageDocument([]byte("<body>"+task("on", "Oil it")+task("off", "Sell it")), n.inspect, index.Document{ID: "x"})
	if got := textOf(&doc); got != "- [x] Oil it\n\n- [ ] Sell it" {
		t.Errorf("%q", got)
	}
}

package ingest

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
)

// smallExport is a Slack export with a public channel, a private one, direct messages, and a folder that no list has.
func smallExport() map[string]string {
	return map[string]string{
		"users.json": `[{"id":"U1","name":"ana","profile":{"real_name":"Ana Ortiz","email":"Ana@acme.com"}},
			{"id":"U2","name":"bo","profile":{"display_name":"bo","email":"bo@acme.com"}}, 7, {"id":["odd"]}]`,
		"channels.json":         `[{"id":"C1","name":"general","members":["U1"]}]`,
		"groups.json":           `[{"id":"G1","name":"board","members":["U1","U9"]}]`,
		"dms.json":              `[{"id":"D1","members":["U1","U2"]}]`,
		"integration_logs.json": `[{"secret":"integrationlog"}]`,
		"README.md":             "about this export",
		"general/2024-03-01.json": `[` + strings.Join([]string{
			`{"type":"message","user":"U1","ts":"1709280000.000100","text":"How do we *roll back*, <@U2>?","thread_ts":"1709280000.000100","reply_count":2}`,
			`{"type":"message","user":"U2","ts":"1709280060.000200","text":"# not a heading\nsee <https://acme.com/run|the runbook>","thread_ts":"1709280000.000100"}`,
			`{"type":"message","user":"U2","ts":"1709290000.000300","text":"lunch?","files":[{"title":"Menu","permalink":"https://acme.slack.com/files/U2/F1/menu"}]}`,
			`{"type":"message","subtype":"channel_join","user":"U2","ts":"1709290001.000300","text":"<@U2> has joined"}`,
			`{"type":"message","user":"U1","ts":"never","text":"undated"}`, `{"type":5}`}, ",") + `]`,
		"general/2024-03-02.json": `[{"type":"message","user":"U1","ts":"1709366400.000100","text":"use the lever","thread_ts":"1709280000.000100"}]`,
		"general/notes.txt":       "beside the messages",
		"board/2024-03-01.json":   `[{"type":"message","user":"U1","ts":"1709280000.000100","text":"the merger"}]`,
		"D1/2024-03-01.json":      `[{"type":"message","user":"U2","ts":"1709280000.000100","text":"between us"}]`,
		"lost/2024-03-01.json":    `[{"type":"message","username":"robot","ts":"1709280000.000100","text":"of no list"}]`,
	}
}

func zipped(t *testing.T, files map[string]string) string {
	t.Helper()
	var data bytes.Buffer
	w := zip.NewWriter(&data)
	for name, text := range files {
		file, err := w.Create(name)
		must(t, err)
		_, err = file.Write([]byte(text))
		must(t, err)
	}
	must(t, w.Close())
	return data.String()
}

func inFolder(folder string, files map[string]string) map[string]string {
	moved := map[string]string{}
	for name, text := range files {
		moved[folder+"/"+name] = text
	}
	return moved
}

func TestSlackExport(t *testing.T) {
	l := newLibrary(t, inFolder("x/export", smallExport()))
	l.write("x/export.zip", zipped(t, inFolder("Acme Slack export", smallExport())))
	l.write("x/other.zip", zipped(t, map[string]string{"a.md": "text"}))
	l.write("x/broken.zip", "PK\x03\x04")
	l.counts(l.add(Options{}, "x"), 12, 0, 0, 0)
	inner := []string{"C1/1709280000.000100", "C1/2024-03-01", "G1/2024-03-01", "D1/2024-03-01", "lost/2024-03-01"}
	names := []string{"x/export/README.md", "x/export/general/notes.txt"}
	for _, name := range inner {
		names = append(names, "x/export!"+name, "x/export.zip!"+name)
	}
	l.want(names...)
	for _, name := range []string{"x/other.zip", "x/broken.zip"} {
		if reason := l.events.skipped()[l.path(name)]; reason != "quarry does not read .zip files" {
			t.Errorf("%s: %q", name, reason)
		}
	}
	taken := slices.Collect(func(yield func(string) bool) {
		for _, event := range l.events.all {
			if event.Type == wire.LibraryTaken {
				yield(event.Path + ": " + event.Kind)
			}
		}
	})
	if want := []string{l.path("x/export.zip") + ": Slack export", l.path("x/export") + ": Slack export"}; !slices.Equal(slices.Sorted(slices.Values(taken)), slices.Sorted(slices.Values(want))) {
		t.Errorf("taken: %q", taken)
	}
	if reason := l.events.skipped()[l.path("x/export")]; reason != "general/2024-03-01.json: 1 message without a valid time" {
		t.Errorf("reason %q", reason)
	}

	for _, export := range []string{"x/export", "x/export.zip"} {
		thread := l.document(export + "!C1/1709280000.000100")
		text := ""
		for _, chunk := range thread.Chunks {
			text += chunk.Text
		}
		if want := "**Ana Ortiz** · 2024-03-01 08:00\n\nHow do we **roll back**, @bo?\n\n**bo** · 2024-03-01 08:01\n\n# not a heading\n" +
			"see [the runbook](https://acme.com/run)\n\n**Ana Ortiz** · 2024-03-02 08:00\n\nuse the lever"; text != want {
			t.Errorf("text %q", text)
		}
		if thread.Title != "#general · How do we roll back, @bo?" || thread.Source != "slack" || thread.Type != "thread" || len(thread.Outline) > 0 ||
			thread.Link != "https://acme.slack.com/archives/C1/p1709280000000100" || thread.UpdatedAt.Format("2006-01-02") != "2024-03-02" ||
			len(thread.Authors) != 2 || thread.Authors[0].Email != "ana@acme.com" || thread.Origin != l.path(export) {
			t.Errorf("thread %+v", thread)
		}
		for name, want := range map[string]string{"C1/2024-03-01": "[PUBLIC]", "G1/2024-03-01": "[external_group:slack_g1 user_email:ana@acme.com]",
			"D1/2024-03-01": "[external_group:slack_d1 user_email:ana@acme.com user_email:bo@acme.com]", "lost/2024-03-01": "[external_group:slack_lost]"} {
			if access := fmt.Sprint(l.document(export + "!" + name).Access); access != want {
				t.Errorf("%s: access %s", name, access)
			}
		}
	}
	if title := l.document("x/export!D1/2024-03-01").Title; title != "Messages of Ana Ortiz, bo · 2024-03-01" {
		t.Errorf("title %q", title)
	}
}

func TestSyncOfAnExport(t *testing.T) {
	for _, form := range []string{"folder", "zip"} {
		t.Run(form, func(t *testing.T) {
			files := smallExport()
			for _, name := range []string{"lost/2024-03-01.json", "README.md", "general/notes.txt"} {
				delete(files, name)
			}
			l := newLibrary(t, nil)
			store := func() {
				t.Helper()
				if form == "zip" {
					l.write("e", "") // so that the folder exists
					must(t, os.RemoveAll(l.path("e")))
					l.write("e.zip", zipped(t, files))
					return
				}
				must(t, os.RemoveAll(l.path("e")))
				for name, text := range inFolder("e", files) {
					l.write(name, text)
				}
			}
			root := "e"
			if form == "zip" {
				root = "e.zip"
			}
			store()
			l.counts(l.add(Options{Set: "Chat"}, root), 4, 0, 0, 0)
			l.counts(l.sync(), 0, 0, 0, 4)
			files["general/2024-03-02.json"] = `[{"type":"message","user":"U1","ts":"1709366400.000100","text":"use the crank","thread_ts":"1709280000.000100"},
				{"type":"message","user":"U1","ts":"1709366500.000100","text":"a new day"}]`
			delete(files, "board/2024-03-01.json")
			l.dated = l.dated.Add(1e9)
			store()
			l.counts(l.sync(), 1, 1, 1, 2)
			if doc := l.document(root + "!C1/1709280000.000100"); !strings.Contains(doc.Chunks[0].Text, "crank") || doc.Sets[0] != "Chat" {
				t.Errorf("the thread is %+v", doc)
			}

			l.counts(l.remove(wire.RemoveRequest{Refs: []string{fileID(l.path(root)) + "!C1/2024-03-01"}}), 0, 0, 1, 0)
			l.dated = l.dated.Add(1e9)
			store()
			l.counts(l.sync(), 0, 0, 0, 3) // what was removed stays out
			l.counts(l.add(Options{}, root), 1, 0, 0, 3)

			status, err := Status(t.Context(), l.idx)
			must(t, err)
			if len(status.Taken) != 1 || status.Taken[0].Kind != "Slack export" || status.Roots[0].Source != "slack" || status.Roots[0].Documents != 4 {
				t.Errorf("status %+v", status)
			}
			l.counts(l.remove(wire.RemoveRequest{Refs: []string{l.path(root)}}), 0, 0, 4, 0)
			if len(l.idx.documents)+len(l.idx.cursors) > 1 { // the refill is over
				t.Errorf("left: %v, %v", l.idx.documents, l.idx.cursors)
			}
		})
	}
}

// TestPartOfAnExport changes one day of a folder and synchronises its path alone, as --watch does.
func TestPartOfAnExport(t *testing.T) {
	l := newLibrary(t, inFolder("x/e", smallExport()))
	l.add(Options{}, "x")
	l.write("x/e/board/2024-03-01.json", `[{"type":"message","user":"U1","ts":"1709280000.000100","text":"the acquisition"}]`)
	l.result(Sync(t.Context(), l.idx, []string{l.path("x/e/board/2024-03-01.json")}, Local{}, l.record()))
	if doc := l.document("x/e!G1/2024-03-01"); !strings.Contains(doc.Chunks[0].Text, "acquisition") || len(l.idx.documents) != 7 {
		t.Errorf("%d documents, %+v", len(l.idx.documents), doc)
	}
	l.write("x/e/.quarryignore", "board/\n")
	l.counts(l.sync(), 0, 0, 1, 6)
	must(t, os.Remove(l.path("x/e/users.json"))) // it is an export no more, and its files are ordinary ones
	l.sync()
	for id := range l.idx.documents {
		if strings.Contains(id, "!") {
			t.Errorf("%s is still stored", id)
		}
	}
}

// TestHostileExports adds exports that are made to harm.
func TestHostileExports(t *testing.T) {
	day := "general/2024-03-01.json"
	for name, test := range map[string]struct {
		change func(files map[string]string)
		reason string // "": it is read
	}{
		"broken users": {func(f map[string]string) { f["users.json"] = `{"a":` }, "users.json: it is not a list in JSON"},
		"broken day":   {func(f map[string]string) { f[day] = `[{"ts":` }, day + ": it is not a list in JSON"},
		"nested":       {func(f map[string]string) { f[day] = strings.Repeat("[", 200_000) }, day + ": it is not a list in JSON"},
		"escapes": {func(f map[string]string) {
			f["users.json"] = strings.ReplaceAll(f["users.json"], "Ana Ortiz", "\\u001b]0;x\\u0007\\u202e\\n# Ana")
		}, ""},
		"ids with paths": {func(f map[string]string) { f["channels.json"] = `[{"id":"../../C1","name":"general"}]` }, ""},
		"one name twice": {func(f map[string]string) {
			f["channels.json"] = `[{"id":"C1","name":"board"},{"id":"C2","name":"general"}]`
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := smallExport()
			files[day] = strings.Replace(files[day], `,{"type":"message","user":"U1","ts":"never","text":"undated"},{"type":5}`, "", 1)
			files["users.json"] = strings.Replace(files["users.json"], `, 7, {"id":["odd"]}`, "", 1)
			test.change(files)
			for _, form := range []string{"e", "e.zip"} {
				l := newLibrary(t, nil)
				if l.write("e.zip", zipped(t, files)); form == "e" {
					for name, text := range inFolder("e", files) {
						l.write(name, text)
					}
				}
				l.add(Options{}, form)
				if reason := l.events.skipped()[l.path(form)]; !strings.HasPrefix(reason, test.reason) || test.reason == "" && reason != "" {
					t.Errorf("%s: reason %q", form, reason)
				}
				for id, doc := range l.idx.documents { // the fake engine checks the rest
					private := strings.Contains(doc.Chunks[0].Text, "merger") || strings.Contains(doc.Chunks[0].Text, "between us")
					if private && slices.Contains(doc.Access, AccessPublic) {
						t.Errorf("%s is public", id)
					}
				}
			}
		})
	}
}

// TestInnerFiles bounds what an archive unpacks to, and tells errors of the file system from bad files.
func TestInnerFiles(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "a"), []byte("123456"), 0o644))
	must(t, os.Mkdir(filepath.Join(dir, "folder"), 0o755))
	archive := collector{innerFiles: innerFiles{fs: os.DirFS(dir), packed: map[string]int64{"a": 2}, left: 10, seen: map[string]bool{}}}
	if _, err := archive.content("a"); err != nil || archive.part.bytes != 2 {
		t.Errorf("%v, %d bytes", err, archive.part.bytes)
	}
	if _, err := archive.content("a"); err != nil || archive.part.bytes != 2 { // it is counted once
		t.Errorf("%v, %d bytes", err, archive.part.bytes)
	}
	must(t, os.WriteFile(filepath.Join(dir, "b"), []byte("123456"), 0o644))
	if _, err := archive.content("b"); err == nil || archive.failed != errUnpacked || archive.part.bytes != 2 {
		t.Errorf("%v, %v, %d bytes", err, archive.failed, archive.part.bytes)
	}
	folder := collector{innerFiles: innerFiles{fs: failing{os.DirFS(dir)}, left: largestFile}}
	for name, want := range map[string]string{"none": "it does not exist", "folder": "it is not a regular file", "bad": "input/output error"} {
		if _, err := folder.content(name); err == nil || err.Error() != want || (folder.failed != nil) != (name == "bad") {
			t.Errorf("%s: %v, %v", name, err, folder.failed)
		}
		folder.failed = nil
	}
}

// failing is a file system with a file on a bad disk.
type failing struct{ fs.FS }

func (f failing) Open(name string) (fs.File, error) {
	if name == "bad" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("input/output error")}
	}
	return f.FS.Open(name)
}

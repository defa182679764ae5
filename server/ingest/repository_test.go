package ingest

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/internal/testkit/filetest"
	"quarry/internal/testkit/gittest"
	"quarry/server/ingest/githistory"
)

// TestRepository dates files by the commits that changed them.
func TestRepository(t *testing.T) {
	l := newLibrary(t, map[string]string{
		"r/a.md": "text", "r/own.md": "---\nauthor: Cy\ndate: 2019-05-05\n---\ntext", "r/changed.md": "new text", "r/new.md": "never committed",
		"r/.git/config": "[remote \"origin\"]\n\turl = git@github.com:acme/docs.git\n",
	})
	first := time.Date(2021, 3, 4, 9, 0, 0, 0, time.UTC)
	files := map[string]string{"a.md": "old", "own.md": "---\nauthor: Cy\ndate: 2019-05-05\n---\ntext", "changed.md": "text"}
	gittest.Commit(t, l.path("r/.git"), files, "Ana Ortiz <ana@acme.com>", first)
	files["a.md"] = "text"
	gittest.Commit(t, l.path("r/.git"), files, "Bo <bo@acme.com>", first.AddDate(1, 0, 0))
	expect := func(name, want string) {
		t.Helper()
		doc := l.document(name)
		got := doc.UpdatedAt.Format(time.DateOnly)
		if doc.UpdatedAt.Equal(l.dated) {
			got = "file"
		}
		for _, author := range doc.Authors {
			got += " " + author.Name
		}
		if got = got + fmt.Sprint(doc.Metadata); got != want || doc.Source != "github" {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	l.counts(l.add(Options{}, "r"), 4, 0, 0, 0)
	expect("r/a.md", "2022-03-04 Bo Ana Ortiz[]")
	expect("r/own.md", "2019-05-05 Cy[]")
	expect("r/changed.md", "file[{dated_by [file time] false}]")
	expect("r/new.md", "file[{dated_by [file time] false}]")
	if created := l.document("r/a.md").CreatedAt; !created.Equal(first) {
		t.Errorf("created %v", created)
	}
	l.counts(l.sync(), 0, 0, 0, 4)

	// Another checkout of the same content changes nothing, a commit dates what it contains.
	l.dated = l.dated.Add(1e9)
	l.write("r/a.md", "text")
	l.counts(l.sync(), 0, 0, 0, 4)
	files["changed.md"] = "new text"
	gittest.Commit(t, l.path("r/.git"), files, "Cy <cy@acme.com>", first.AddDate(2, 0, 0))
	l.counts(l.sync(), 0, 1, 0, 3)
	expect("r/changed.md", "2023-03-04 Cy Ana Ortiz[]")
	l.counts(l.sync(), 0, 0, 0, 4)
}

// TestPartsOfRepositories dates the files of a worktree, of a folder in a repository and of a single file, and follows no
// other file named .git.
func TestPartsOfRepositories(t *testing.T) {
	l := newLibrary(t, map[string]string{
		"main/a.md": "text", "main/.git/config": "[remote \"origin\"]\n\turl = git@github.com:acme/docs.git\n",
		"tree/a.md": "text", "tree/.git": "gitdir: ../main/.git/worktrees/tree\n",
		"main/.git/worktrees/tree/gitdir": "../../../../tree/.git\n",
		"thief/a.md":                      "text", "thief/.git": "gitdir: ../main/.git/worktrees/tree\n",
		"outer/sub/a.md": "text", "outer/sub/new.md": "never committed",
	})
	first := time.Date(2021, 3, 4, 9, 0, 0, 0, time.UTC)
	gittest.Commit(t, l.path("main/.git"), map[string]string{"a.md": "text"}, "Ana Ortiz <ana@acme.com>", first)
	head, err := os.ReadFile(l.path("main/.git/HEAD"))
	must(t, err)
	l.write("main/.git/worktrees/tree/HEAD", string(head))
	gittest.Commit(t, l.path("main/.git"), map[string]string{"a.md": "later"}, "Bo <bo@acme.com>", first.AddDate(1, 0, 0))
	gittest.Commit(t, l.path("outer/.git"), map[string]string{"sub/a.md": "text"}, "Cy <cy@acme.com>", first)
	l.add(Options{}, "tree")
	l.add(Options{}, "thief")
	l.add(Options{}, "outer/sub")
	for name, want := range map[string]string{
		"tree/a.md": "github 2021-03-04 Ana Ortiz []", "thief/a.md": "file file [] []", "outer/sub/a.md": "file 2021-03-04 Cy []",
		"outer/sub/new.md": "file file [] [{dated_by [file time] false}]",
	} {
		doc := l.document(name)
		date, author := doc.UpdatedAt.Format(time.DateOnly), fmt.Sprint(doc.Authors)
		if doc.UpdatedAt.Equal(l.dated) {
			date = "file"
		}
		if len(doc.Authors) > 0 {
			author = doc.Authors[0].Name
		}
		if got := fmt.Sprint(doc.Source, " ", date, " ", author, " ", doc.Metadata); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	l.counts(l.sync(), 0, 0, 0, 4)
	l.add(Options{Set: "one"}, "outer/sub/a.md")
	if doc := l.document("outer/sub/a.md"); doc.UpdatedAt.Year() != 2021 {
		t.Errorf("a file by itself is dated %v", doc.UpdatedAt)
	}
}

// TestHostileRepository: a few objects that stand for endless folders cost a repository its dates and nothing else.
func TestHostileRepository(t *testing.T) {
	for name, leaf := range map[string]string{"files": "a.md", "empty": "", "long": strings.Repeat("x", 250)} {
		l := newLibrary(t, map[string]string{"a.md": "# A"})
		for file, content := range filetest.Repository(12, 10, leaf) {
			l.write(file, string(content))
		}
		if _, found := githistory.Find(l.folder); !found {
			t.Fatalf("%s: no repository", name)
		}
		l.add(Options{}, ".")
		l.want("a.md")
		if doc := l.document("a.md"); !doc.UpdatedAt.Equal(l.dated) {
			t.Errorf("%s: dated %v", name, doc.UpdatedAt)
		}
	}
}

// TestHistoriesThatEndEarly: what of a history cannot be read is named, and a repository without a commit is complete.
func TestHistoriesThatEndEarly(t *testing.T) {
	at := time.Date(2021, 3, 4, 9, 0, 0, 0, time.UTC)
	for name, want := range map[string]string{
		"whole": "", "shallow": "a part of the git history: it is a shallow clone", "damaged": "a part of the git history: an object is missing",
		"sha256": "a part of the git history: its format is not known", "new": "",
	} {
		l := newLibrary(t, map[string]string{"r/a.md": "text", "r/.git/config": ""})
		git := l.path("r/.git")
		switch name {
		case "sha256":
			l.write("r/.git/HEAD", strings.Repeat("ab", 32))
		case "new":
			l.write("r/.git/HEAD", "ref: refs/heads/main\n")
		default:
			gittest.Commit(t, git, map[string]string{"a.md": "old"}, "Ana <ana@acme.com>", at)
			first, err := os.ReadFile(l.path("r/.git/HEAD"))
			must(t, err)
			gittest.Commit(t, git, map[string]string{"a.md": "text"}, "Bo <bo@acme.com>", at.AddDate(1, 0, 0))
			if id := strings.TrimSpace(string(first)); name != "whole" {
				must(t, os.Remove(l.path("r/.git/objects/"+id[:2]+"/"+id[2:])))
			}
			if name == "shallow" {
				l.write("r/.git/shallow", strings.TrimSpace(string(first))+"\n")
			}
		}
		l.add(Options{}, "r")
		var got []string
		for _, e := range l.events.all {
			if e.Type == wire.LibraryLeftOut && e.Path == l.path("r") {
				got = append(got, e.Reason)
			}
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestIgnoreFilesThatAreCut: rules that do not apply are named, and the others apply.
func TestIgnoreFilesThatAreCut(t *testing.T) {
	l := newLibrary(t, map[string]string{
		"a/.gitignore": "b.md\n" + strings.Repeat("x\n", mostPatterns) + "c.md\n", "a/b.md": "b", "a/c.md": "c", "a/d/e.md": "e",
		"a/d/.quarryignore": "e.md\n" + strings.Repeat("# long\n", longestConfig/7),
	})
	l.add(Options{}, "a")
	l.want("a/c.md")
	skipped := l.events.skipped()
	if !strings.Contains(skipped[l.path("a/.gitignore")], "more than 5000 rules") || !strings.Contains(skipped[l.path("a/d/.quarryignore")], "larger than 1 MB") {
		t.Errorf("%v", skipped)
	}
}

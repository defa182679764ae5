package ingest

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/server/ingest/githistory"
)

// TestIgnorePatterns holds single patterns to what git does with them.
func TestIgnorePatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, path string // a path ending in / is a folder
		ignored       bool
	}{
		{"a.md", "a.md", true}, {"a.md", "x/a.md", true}, {"/a.md", "x/a.md", false}, {"/a.md", "a.md", true},
		{"x/a.md", "x/a.md", true}, {"x/a.md", "y/x/a.md", false}, {"**/x/a.md", "y/x/a.md", true}, {"**/x/a.md", "x/a.md", true},
		{"build/", "build/", true}, {"build/", "build", false}, {"build/", "x/build/", true}, {"x/build/", "y/x/build/", false},
		{"*.log", "a.log", true}, {"*.log", "x/y/a.log", true}, {"/*.log", "x/a.log", false}, {"x/*.log", "x/y/a.log", false},
		{"*.log", ".log", true}, {"x/**", "x/", false}, {"x/**", "x/a", true}, {"x/**", "x/y/a", true}, {"x/**/a", "x/a", true},
		{"x/**/a", "x/y/z/a", true}, {"**", "a", true}, {"a**b", "axxb", true}, {"a?c", "abc", true}, {"a?c", "a/c", false},
		{"[ab].md", "b.md", true}, {"[!ab].md", "b.md", false}, {"[!ab].md", "c.md", true}, {"[a-c].md", "b.md", true},
		{"{a,b}", "a", false}, {"{a,b}", "{a,b}", true}, {"*{x}", "a{x}", true}, {`\#a`, "#a", true}, {"#a", "#a", false},
		{`\!a`, "!a", true}, {"a ", "a", true}, {`a\ `, "a ", true}, {`a\ `, "a", false}, {"a.md", "aXmd", false}, {"", "a", false},
		{"/", "a/", false}, {"[", "[", false}, {"*", "a", true}, {"/*", "x/", true}, {"a+b", "a+b", true}, {"A", "a", false}, {"a***", "ab", true}, {"x/***/a", "x/y/z/a", true},
		{`a\**`, "a*b", true}, {`a\**`, "ab", false},
	} {
		chain := []*ignoreRules{parseIgnore(c.pattern, "")}
		if got := ignored(chain, strings.TrimSuffix(c.path, "/"), strings.HasSuffix(c.path, "/")); got != c.ignored {
			t.Errorf("%q ignores %q: %v", c.pattern, c.path, got)
		}
	}
}

// TestRulesAbove adds folders inside of repositories: what git ignores there is left out, up to the repository's root.
func TestRulesAbove(t *testing.T) {
	l := newLibrary(t, map[string]string{
		"repo/.git/HEAD": "ref: x", "repo/.git/info/exclude": "secret.md\n", "repo/.gitignore": "docs/draft.md\n/plan.md\nlocal*\n*.tmp.md\nbuilt/\n", "repo/.quarryignore": "notes.md\n",
		"repo/docs/.gitignore": "!keep.tmp.md\ndeep/x.md\n", "repo/docs/plan.md": "", "repo/docs/draft.md": "", "repo/docs/secret.md": "", "repo/docs/notes.md": "",
		"repo/docs/deep/x.md": "", "repo/docs/deep/local.md": "", "repo/docs/deep/keep.tmp.md": "", "repo/docs/deep/y.md": "", "repo/docs/deep/b.tmp.md": "",
		"repo/docs/inner/.git": "gitdir: elsewhere", "repo/docs/inner/local.md": "", "repo/docs/inner/notes.md": "", "repo/docs/inner/built/z.md": "",
		"repo/built/docs/a.md": "", "outside/.gitignore": "*", "outside/in/a.md": "", "repo/docs/bare.git/HEAD": "", "repo/docs/bare.git/refs/heads/x": "", "repo/docs/bare.git/objects/pack/y": "", "repo/docs/bare.git/description": "",
	})
	for folder, want := range map[string]string{
		"repo/docs": "deep/keep.tmp.md deep/y.md inner/built/z.md inner/local.md plan.md", "repo/docs/deep": "keep.tmp.md y.md", "repo/docs/inner": "built/z.md local.md notes.md",
		"repo": "docs/deep/keep.tmp.md docs/deep/y.md docs/inner/built/z.md docs/inner/local.md docs/plan.md", "repo/built": "docs/a.md", "outside/in": "a.md", "repo/docs/bare.git": "",
	} {
		w := &walker{root: l.path(folder)}
		must(t, w.walk(context.Background(), ""))
		var names, reasons []string
		for _, file := range w.files {
			if reasons = append(reasons, file.reason); file.reason == "" {
				names = append(names, file.name)
			}
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %s, want %s", folder, got, want)
		}
		if isBare := slices.Contains(reasons, "it is a git repository without a working tree"); isBare != (folder == "repo" || strings.HasPrefix(folder, "repo/docs") && !strings.HasSuffix(folder, "deep") && !strings.HasSuffix(folder, "inner")) {
			t.Errorf("%s: %q", folder, reasons)
		}
	}
}

// TestPersonalIgnore: what git ignores for a person in all repositories is left out of them, unless their own rules say
// otherwise, and nowhere else.
func TestPersonalIgnore(t *testing.T) {
	for name, home := range map[string]map[string]string{
		"at its place":   {".config/git/ignore": "*.log\nown.md\n"},
		"configured":     {".gitconfig": "[user]\n\tname = Jo\n[core]\n\texcludesFile = ~/ignored\n", "ignored": "*.log\nown.md\n", ".config/git/ignore": "plan.md\n"},
		"in the other":   {".config/git/config": "[core]\nexcludesfile = \"~/ignored\"\n", "ignored": "*.log\nown.md\n"},
		"another editor": {".config/git/config": "[core]\neditor = vi\n", ".config/git/ignore": "own.md\n*.log"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := newLibrary(t, home).folder
			t.Setenv("HOME", folder)
			t.Setenv("USERPROFILE", folder)
			t.Setenv("XDG_CONFIG_HOME", "")
			names, _ := tree(t, map[string]string{"repo/.git/HEAD": "ref: x", "repo/.gitignore": "!keep.log\n", "repo/plan.md": "", "repo/own.md": "",
				"repo/a.log": "", "repo/keep.log": "", "repo/inner/.git/HEAD": "ref: x", "repo/inner/b.log": "", "repo/inner/c.md": "", "own.md": "", "a.log": ""})
			if want := "a.log own.md repo/inner/c.md repo/keep.log repo/plan.md"; names != want {
				t.Errorf("%s, want %s", names, want)
			}
		})
	}
}

func FuzzIgnore(f *testing.F) {
	f.Add("a/**/b\n!x*[a-", "a/x/b")
	f.Add("{a,b}\n\\", "{a,b}")
	f.Add("*.log\n!keep.log\n/docs/a\nbuild/\n**/deep/*.tmp\n\\#x\nfoo[ab]\\ ", "docs/sub/deep/x.tmp")
	f.Fuzz(func(t *testing.T, rules, path string) {
		began := time.Now()
		ignored([]*ignoreRules{parseIgnore(rules, "")}, path, len(path)%2 == 0)
		if took := time.Since(began); took > time.Minute {
			t.Errorf("took %v", took)
		}
	})
}

// tree runs a walk and lists the names that it came to.
func tree(t *testing.T, files map[string]string) (string, map[string]string) {
	t.Helper()
	l := newLibrary(t, files)
	w := &walker{root: l.folder}
	must(t, w.walk(context.Background(), ""))
	var names []string
	sources := map[string]string{}
	for _, file := range w.files {
		names = append(names, file.name)
		sources[file.name] = file.source
	}
	return strings.Join(names, " "), sources
}

func TestNestedIgnoreFiles(t *testing.T) {
	got, _ := tree(t, map[string]string{
		".gitignore": "*.txt\n!keep.txt\n/top.md\nout/\n!out/back.md\n", "top.md": "", "a.txt": "", "keep.txt": "", "out/back.md": "",
		"sub/top.md": "", "sub/.gitignore": "!a.txt\nkeep.txt\n/only.md\n", "sub/a.txt": "", "sub/keep.txt": "", "sub/only.md": "",
		"sub/deep/only.md": "", "sub/deep/a.txt": "", "b.md": "", ".quarryignore": "\uFEFFdrafts/**\r\n!drafts/good.md\r\n",
		"drafts/bad.md": "", "drafts/good.md": "", "other/a.txt": "",
	})
	if want := "b.md drafts/good.md keep.txt sub/a.txt sub/deep/a.txt sub/deep/only.md sub/top.md"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWhatIsPassedOver(t *testing.T) {
	got, sources := tree(t, map[string]string{
		"a.md": "", ".hidden.md": "", ".git/HEAD": "", ".git/config": "[remote \"origin\"]\n\turl = git@github.com:acme/x.git\n",
		"node_modules/x/README.md": "", ".svn/x.md": "", "sub/b.md": "", "vendor/lib/.git/config": "[remote \"origin\"]\nurl=https://gitlab.acme.example/y",
		"vendor/lib/c.md": "", "vendor/none/.git/config": "[core]\n", "vendor/none/d.md": "",
	})
	if want := "a.md sub/b.md vendor/lib/c.md vendor/none/d.md"; got != want {
		t.Errorf("got %s", got)
	}
	for name, want := range map[string]string{"a.md": "github", "sub/b.md": "github", "vendor/lib/c.md": "gitlab", "vendor/none/d.md": ""} {
		if sources[name] != want {
			t.Errorf("%s is of %q", name, sources[name])
		}
	}
}

func TestRemoteSource(t *testing.T) {
	for config, want := range map[string]string{
		"[remote \"origin\"]\n\turl = https://github.com/a/b.git":                                  "github",
		"[remote \"origin\"]\n\turl = ssh://git@bitbucket.org:22/a/b":                              "bitbucket",
		"[remote \"up\"]\nurl = git@gitlab.com:a/b\n[remote \"origin\"]\nurl = git@github.com:a/b": "github",
		"[remote \"origin\"]\nurl = git@example.com:github/b":                                      "",
		"[remote \"origin\"]\nurl = https://evil.example/github.com":                               "",
		"[remote \"origin\"]\nurl = ../local":                                                      "",
		"[url \"x\"]\nurl = https://github.com/a":                                                  "", "": "", "[remote \"origin\"]\nurl=https://notgithub.com": "",
	} {
		git := githistory.Checkout{GitDir: t.TempDir()}
		must(t, os.WriteFile(filepath.Join(git.GitDir, "config"), []byte(config), 0o644))
		if got := hostSource(git.Remote()); got != want {
			t.Errorf("%q is of %q, want %q", config, got, want)
		}
	}
}

func TestUnreadableFoldersKeepTheirDocuments(t *testing.T) {
	p := &plan{target: &target{}, unread: []foundFile{{path: "/d/closed"}}}
	p.compare(nil, map[string]fileState{"/d/closed/a.md": {Documents: 1}, "/d/closedb.md": {Documents: 1}})
	if len(p.removed) != 1 || path.Base(p.removed[0]) != "closedb.md" {
		t.Errorf("removed %q", p.removed)
	}
}

func TestBadFiles(t *testing.T) {
	l := newLibrary(t, map[string]string{
		"d/empty.md": "", "d/blank.md": " \n\t\n\u00a0", "d/binary.md": "a\x00b", "d/png.md": "\x89PNG\r\n\x1a\n rest", "d/pdf.txt": "%PDF-1.4\nx",
		"d/latin.md": "caf\xe9 cr\xe8me", "d/escape.md": "a\x1b[31mred\x1b[0m \x1b]8;;http://evil\x07link\x1b]8;;\x07 x\u009b1mB",
		"d/bidi.md": "user\u202etxt.exe", "d/line.txt": strings.Repeat("word ", 200_000), "d/solid.md": strings.Repeat("é", 500_000),
		"d/bm": "BM25 is a ranking function", "d/utf16.txt": "\xff\xfeh\x00i\x00", "d/bom.md": "\xef\xbb\xbf# Titel", "d/LICENSE": "MIT",
		"d/x.XYZ": "{}", "d/noext": "\x7fELF\x02\x00", "d/crlf.md": "# A\r\n\r\nb\r\n", "d/bad.jsonl": "nonsense\n{}\n[1]\n",
		"d/mixed.jsonl": "nonsense\n" + line("ok", "t") + `{"title":"no sections"}` + "\n", "d/none.jsonl": "\n\n",
		"d/fm.md": "---\ntitle: only a title\n---\n",
	})
	done := l.add(Options{}, "d")
	l.want("d/latin.md", "d/escape.md", "d/bidi.md", "d/line.txt", "d/solid.md", "d/bm", "d/utf16.txt", "d/bom.md", "d/LICENSE", "d/crlf.md", "ok", "d/fm.md")
	reasons := l.events.skipped()
	for name, part := range map[string]string{"d/empty.md": "no text", "d/blank.md": "no text", "d/binary.md": "binary", "d/png.md": "image/png",
		"d/pdf.txt": "cannot be started", "d/x.XYZ": ".xyz files", "d/noext": "binary", "d/bad.jsonl": "line 1", "d/none.jsonl": "no text",
		"d/mixed.jsonl": "line 3: not an ingestion document"} {
		if !strings.Contains(reasons[l.path(name)], part) {
			t.Errorf("%s: %q", name, reasons[l.path(name)])
		}
	}
	if done.Skipped != 9 {
		t.Errorf("%d skipped", done.Skipped)
	}
	for name, want := range map[string]string{"d/latin.md": "café crème", "d/escape.md": "ared link xB",
		"d/bidi.md": "user\u202etxt.exe", "d/utf16.txt": "hi", "d/crlf.md": "# A\n\nb"} {
		if got := l.document(name).Chunks[0].Text; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if title := l.document("d/bom.md").Title; title != "Titel" {
		t.Errorf("title %q", title)
	}
	// The reasons are told again without reading the files.
	again := l.sync()
	if again.Skipped != done.Skipped || again.Unchanged != done.Added {
		t.Errorf("second run %+v", again)
	}
	// A file that turns bad takes its document with it.
	l.write("d/bm", "\x00")
	l.counts(l.sync(), 0, 0, 1, done.Added-1)
}

func TestHugeFiles(t *testing.T) {
	l := newLibrary(t, map[string]string{"d/a.md": "a"})
	huge, err := os.Create(l.path("d/huge.md"))
	must(t, err)
	must(t, huge.Truncate(1<<30))
	must(t, huge.Close())
	l.counts(l.add(Options{}, "d"), 1, 0, 0, 0)
	if reason := l.events.skipped()[l.path("d/huge.md")]; reason != errTooLarge.Error() {
		t.Errorf("reason %q", reason)
	}
}

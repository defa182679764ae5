package reader

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
)

func addresses(links []Link) []string {
	var all []string
	for _, link := range links {
		all = append(all, fmt.Sprintf("%d %s %s", link.Number, link.Text, link.Address))
	}
	return all
}

func TestLinksAreNumbered(t *testing.T) {
	t.Parallel()
	d := runbook()
	d.Content = "See [the **board**](https://grafana.example/d), <jo@acme.com>, https://x.example/y and [below](#steps).\n\n" +
		"| a |\n|---|\n| [cell](../b.md) |\n\n## A [head](https://h.example) line\n\n![Chart](img/c.png) [![in](i.png)](https://out.example)\n\n" +
		"[script](javascript:alert(1)) [file](file:///etc/passwd) [empty]() [ref]\n\n[ref]: r.md\n"
	link := "https://wiki.example/eng/a.md"
	d.Link = &link
	var r Reader
	r.Show(d)
	r.View(100, 30, darkTheme())
	if r.HasLinks() {
		t.Error("links are numbered before they are shown with numbers")
	}
	render(&r)
	want := []string{"1 the board https://grafana.example/d", "2 jo@acme.com mailto:jo@acme.com", "3 x.example/y https://x.example/y",
		"4 below https://wiki.example/eng/a.md#steps", "5 cell https://wiki.example/b.md", "6 head https://h.example",
		"7 ▣ Chart https://wiki.example/eng/img/c.png", "8 in https://out.example", "9 ref https://wiki.example/eng/r.md"}
	links, _ := r.Links()
	if got := addresses(links); !slices.Equal(got, want) {
		t.Errorf("links\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	view := strings.Join(plainView(&r, 100, 30), "\n")
	for _, l := range links {
		number := darkTheme().LinkNumber(l.Number)
		if !strings.Contains(view, l.Text+number) {
			t.Errorf("%s has no number %s in\n%s", l.Text, number, view)
		}
	}
	if !strings.Contains(view, "script file empty ref") {
		t.Errorf("links that cannot be opened are not shown as text:\n%s", view)
	}
}

// Numbers stay while more of the document comes in and the pane changes its width, and none is given twice.
func TestNumbersOfLinksStay(t *testing.T) {
	t.Parallel()
	d := runbook()
	d.Content = "[one](https://x.example/1) and [two](https://x.example/2)"
	var r Reader
	r.Show(d)
	r.View(60, 20, darkTheme())
	render(&r)
	links, _ := r.Links()
	first := addresses(links)
	linked := func(i int) wire.Chunk {
		return wire.Chunk{ChunkInd: i, Content: fmt.Sprintf("Chunk %d has [a link](https://x.example/c%d).", i, i)}
	}
	r.Add(0, 4, []wire.Chunk{linked(1), linked(3), linked(4)})
	for _, width := range []int{60, 40, 90, 60} {
		r.View(width, 20, darkTheme())
		render(&r)
		links, _ := r.Links()
		for i, link := range links {
			if link.Number != i+1 {
				t.Fatalf("at %d columns link %d has the number %d", width, i+1, link.Number)
			}
		}
		if got := addresses(links); len(got) != 5 || !slices.Equal(got[:2], first) {
			t.Fatalf("at %d columns: %q after %q", width, got, first)
		}
	}
	r.Show(d)
	r.View(60, 20, darkTheme())
	if links, _ := r.Links(); !slices.Equal(addresses(links), first) {
		t.Errorf("shown again at once: %q, want %q", addresses(links), first)
	}
}

// The link to choose at first is the first one in view, of whatever kind.
func TestTheFirstLinkInView(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 40 {
		fmt.Fprintf(&text, []string{"[**link** %d](https://x.example/%[1]d)", "<https://x.example/%d>", "https://x.example/%d", "![image %d](https://x.example/%[1]d)"}[i%4], i)
		text.WriteString(" words\n\n")
	}
	d := runbook()
	d.Content, d.ChunkStart, d.ChunkEnd, d.ChunkCount, d.Highlights, d.Words = text.String(), 0, 0, 1, nil, nil
	var r Reader
	r.Show(d)
	r.View(60, 20, darkTheme())
	render(&r)
	for line := range 60 {
		links, first := r.Links()
		if want := (line + 1) / 2; links[first].Number != want+1 {
			t.Fatalf("%d lines down: link %d is the first in view, want %d", line, links[first].Number, want+1)
		}
		r.Down(1)
	}
}

// Of the files of a library only documents and pictures are opened: another file might be run.
func TestLinksToFiles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		target  string
		library bool
		want    string
	}{
		{"../b.md#now", true, "file:///srv/b.md#now"}, {"img/c.PNG", true, "file:///srv/docs/img/c.PNG"}, {"../b.md", false, ""},
		{"Evil.app", true, ""}, {"x.desktop", true, ""}, {"run", true, ""}, {"/bin/sh", true, ""}, {"file://host/b.md", true, ""},
		{"https://x.example", false, "https://x.example"}, {"javascript:x.md", true, ""}, {"x.sh?y.md", true, ""}, {"x.command#a.md", true, ""},
	} {
		u := unit{base: "file:///srv/docs/a.md", files: test.library}
		if got, ok := u.resolve(test.target); ok != (test.want != "") || ok && got != test.want {
			t.Errorf("%s, library %t: %q, %t", test.target, test.library, got, ok)
		}
	}
}

func TestLinksOfAPanelHaveNoNumbers(t *testing.T) {
	t.Parallel()
	if text := strings.Join(Lines("[a](https://x.example)", 40, darkTheme()), "\n"); strings.Contains(text, "¹") {
		t.Errorf("%q", text)
	}
}

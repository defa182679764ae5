package reader

import (
	"strings"
	"testing"

	"quarry/client/wire"
)

// prose is Markdown of about 4 KB of the kinds that documents are made of.
func prose() string {
	part := "## When to roll back\n\n**Roll back** first and understand later if a release went out in the last 72 hours and\n\n" +
		"- alarms, readings or logins are failing, **or**\n- you are on call and it smells of the release\n\n" +
		"1. Find the last good version, see [the board](https://grafana.example/d/alarm-rate) and `kwctl release list`.\n2. Watch.\n\n" +
		"```bash\nkwctl rollback tempwatch --to v4.11.6 --reason \"INC-2026-031\"\n```\n\n" +
		"| The migration | Safe? | What to do |\n|---|---|---|\n| adds a table | yes | `--accept-schema 0187` |\n| drops | **no** | roll forward |\n\n" +
		strings.Repeat("A needless rollback costs about ten minutes and nobody has ever been told off for one of them. ", 3) + "\n\n"
	return strings.Repeat(part, 4096/len(part)+1)
}

func proseReader(b *testing.B) *Reader {
	b.Helper()
	d := runbook()
	d.Content = prose()
	r := &Reader{}
	r.Show(d)
	r.View(60, 34, darkTheme())
	return r
}

func BenchmarkShowPlain(b *testing.B) {
	th := darkTheme()
	r := proseReader(b)
	d := r.document
	for b.Loop() {
		r.Show(d)
		r.View(60, 34, th)
	}
}

func BenchmarkShowCached(b *testing.B) {
	th := darkTheme()
	r := proseReader(b)
	render(r)
	d := r.document
	for b.Loop() {
		r.Show(d)
		r.View(60, 34, th)
	}
}

func BenchmarkRender(b *testing.B) {
	r := proseReader(b)
	job, _ := r.RenderJob()
	b.SetBytes(int64(len(prose())))
	b.ReportAllocs()
	for b.Loop() {
		job.Render()
	}
}

func BenchmarkViewScrolled(b *testing.B) {
	th := darkTheme()
	r := proseReader(b)
	render(r)
	b.ReportAllocs()
	for b.Loop() {
		top := r.top
		if r.Down(1); r.top == top {
			r.Top()
		}
		r.View(60, 34, th)
	}
}

func BenchmarkViewUnchanged(b *testing.B) {
	th := darkTheme()
	r := proseReader(b)
	b.ReportAllocs()
	for b.Loop() {
		r.View(60, 34, th)
	}
}

// BenchmarkWhole is a whole document of a megabyte, resized.
func BenchmarkWhole(b *testing.B) {
	th := darkTheme()
	d := runbook()
	d.Content = strings.Repeat(prose(), 256)
	r := &Reader{}
	r.Show(d)
	width := 60
	for b.Loop() {
		width = 140 - width
		r.View(width, 34, th)
	}
}

// BenchmarkSetWhole brings in a whole document of a megabyte.
func BenchmarkSetWhole(b *testing.B) {
	th := darkTheme()
	var whole []wire.Chunk
	for i := range 256 {
		whole = append(whole, wire.Chunk{ChunkInd: i, Content: prose()})
	}
	d := runbook()
	for b.Loop() {
		r := &Reader{}
		r.Show(d)
		r.View(60, 34, th)
		r.SetWhole(infoOf(256), whole)
		r.View(60, 34, th)
	}
}

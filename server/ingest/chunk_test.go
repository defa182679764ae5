package ingest

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"quarry/internal/testkit/longtest"
	"quarry/internal/text"
	"quarry/server/index"
	"quarry/server/ingest/worker"
)

// checkDocument holds a document to what every engine may rely on.
func checkDocument(t testing.TB, doc *index.Document) {
	t.Helper()
	if doc.ID == "" || doc.Source == "" || doc.Type == "" || strings.TrimSpace(doc.Title) == "" {
		t.Errorf("document %q lacks an id, source, type or title: %q %q %q", doc.ID, doc.Source, doc.Type, doc.Title)
	}
	if len(doc.Chunks) == 0 {
		t.Errorf("document %q has no chunks", doc.ID)
	}
	for i, chunk := range doc.Chunks {
		if n := text.EstimateTokens(chunk.Text); n > chunkLimit {
			t.Errorf("chunk %d of %q has %d tokens", i, doc.ID, n)
		}
		if strings.TrimSpace(chunk.Text) == "" || !utf8.ValidString(chunk.Text) {
			t.Errorf("chunk %d of %q is blank or broken: %q", i, doc.ID, chunk.Text)
		}
		if strings.ContainsAny(chunk.Text, "\x00\x07\x1b\r\u009b") {
			t.Errorf("chunk %d of %q holds control characters: %q", i, doc.ID, chunk.Text)
		}
	}
	for _, h := range doc.Outline {
		if h.Chunk < 0 || h.Chunk >= len(doc.Chunks) {
			t.Errorf("heading %q of %q names chunk %d of %d", h.Text, doc.ID, h.Chunk, len(doc.Chunks))
		}
	}
}

// checkWords holds that the chunks have all words of the text in their order; what is repeated may come between.
func checkWords(t testing.TB, text string, chunks []index.Chunk) {
	t.Helper()
	// A word may be cut where it is longer than a chunk, so characters are compared and not words.
	var joined strings.Builder
	for _, c := range chunks {
		joined.WriteString(c.Text)
	}
	rest := joined.String()
	position := 0
	for at, r := range text {
		if r == ' ' || r == '\n' || r == '\t' || r == '\u00a0' || r == '\u0085' {
			continue
		}
		i := strings.IndexRune(rest[position:], r)
		if i < 0 {
			t.Fatalf("%q is lost at byte %d: %.80q", r, at, text[at:])
		}
		position += i + utf8.RuneLen(r)
	}
}

func chunkMarkdown(text string) ([]index.Chunk, []index.Heading) {
	return chunkBlocks(text, newMarkdownReader().parse(text), "", "https://x.example/d.md")
}

func sentencesText(n int) string {
	return strings.Repeat("The quick brown fox jumps over the lazy dog. ", n)
}

func TestChunksFollowSections(t *testing.T) {
	long := sentencesText(20) // 225 tokens
	text := "# Guide\n\nIntro.\n\n## Install\n\n" + long + "\n\n## Use\n\n" + long + "\n\n### Tip\n\nShort.\n\n### Hint\n\nShort too.\n"
	chunks, outline := chunkMarkdown(text)
	want := []struct{ begins, headings, link string }{
		{"# Guide\n\nIntro.\n\n## Install", "Guide", "#guide"},
		{"## Use", "Guide/Use", "#use"},
		{"### Tip\n\nShort.\n\n### Hint", "Guide/Use/Tip", "#tip"},
	}
	if len(chunks) != len(want) {
		t.Fatalf("%d chunks: %+v", len(chunks), chunks)
	}
	for i, w := range want {
		if !strings.HasPrefix(chunks[i].Text, w.begins) || strings.Join(chunks[i].Headings, "/") != w.headings ||
			chunks[i].Link != "https://x.example/d.md"+w.link {
			t.Errorf("chunk %d: %.40q under %q, %s", i, chunks[i].Text, chunks[i].Headings, chunks[i].Link)
		}
	}
	for i, w := range []index.Heading{{Level: 1, Text: "Guide", Chunk: 0}, {Level: 2, Text: "Install", Chunk: 0},
		{Level: 2, Text: "Use", Chunk: 1}, {Level: 3, Text: "Tip", Chunk: 2}, {Level: 3, Text: "Hint", Chunk: 2}} {
		if outline[i] != w {
			t.Errorf("outline %d: %+v", i, outline[i])
		}
	}
	var joined strings.Builder
	for _, c := range chunks {
		joined.WriteString(c.Text)
	}
	if got := joined.String(); got != strings.ReplaceAll(strings.TrimSpace(text), " \n", "\n") {
		t.Errorf("joined chunks differ from the text:\n%q\n%q", got, text)
	}
}

func TestHeadingAloneStaysWithItsText(t *testing.T) {
	chunks, _ := chunkMarkdown("# A\n\n## B\n\n" + sentencesText(100))
	if !strings.HasPrefix(chunks[0].Text, "# A\n\n## B\n\nThe quick") || len(chunks[0].Headings) != 2 {
		t.Errorf("first chunk %.60q under %q", chunks[0].Text, chunks[0].Headings)
	}
	for i, c := range chunks {
		if end := strings.TrimRight(c.Text, " \n"); !strings.HasSuffix(end, ".") {
			t.Errorf("chunk %d cuts a sentence: …%q", i, end[len(end)-20:])
		}
	}
}

func TestHardWrappedSentencesStayWhole(t *testing.T) {
	text := strings.Repeat("A sentence that is wrapped\nin the middle of the line. Another\none (e.g. this) follows it.\n", 60)
	chunks, _ := chunkMarkdown(text)
	for i, c := range chunks {
		if end := strings.TrimSpace(c.Text); !strings.HasSuffix(end, ".") {
			t.Errorf("chunk %d of %d ends in %q", i, len(chunks), end[max(0, len(end)-40):])
		}
	}
	checkWords(t, text, chunks)
}

func TestTablesRepeatTheirHeader(t *testing.T) {
	header := "| Name | Value |\n|------|-------|\n"
	row := "| `key_of_the_setting` | some value that takes a few words |\n"
	text := "Before.\n\n" + header + strings.Repeat(row, 80) + "\nAfter.\n"
	chunks, _ := chunkMarkdown(text)
	if len(chunks) < 3 {
		t.Fatalf("%d chunks", len(chunks))
	}
	rows := 0
	for i, c := range chunks {
		rows += strings.Count(c.Text, row)
		if i > 0 && strings.Contains(c.Text, "key_of") && !strings.HasPrefix(c.Text, header) {
			t.Errorf("chunk %d lacks the header: %.60q", i, c.Text)
		}
	}
	if rows != 80 {
		t.Errorf("%d whole rows of 80", rows)
	}
	checkWords(t, text, chunks)
}

func TestCodeIsFencedAgain(t *testing.T) {
	for name, open := range map[string]string{"top": "```go title=x\n", "tilde": "~~~~\n", "list": "- item\n\n  ```sh\n"} {
		t.Run(name, func(t *testing.T) {
			indent := ""
			if name == "list" {
				indent = "  "
			}
			fence := strings.Repeat(string(strings.TrimSpace(open[strings.IndexAny(open, "`~"):])[0]), 3)
			if name == "tilde" {
				fence = "~~~~"
			}
			text := "Intro.\n\n" + open + strings.Repeat(indent+"line(of, code) // comment here\n", 150) + indent + fence + "\n\nEnd.\n"
			chunks, _ := chunkMarkdown(text)
			if len(chunks) < 3 {
				t.Fatalf("%d chunks", len(chunks))
			}
			for i, c := range chunks {
				if n := strings.Count(c.Text, fence); n != 2 {
					t.Errorf("chunk %d has %d fences:\n%s", i, n, c.Text)
				}
			}
			checkWords(t, text, chunks)
		})
	}
}

func TestSmallBlocksAreNotCut(t *testing.T) {
	code := "```\n" + strings.Repeat("x := 1\n", 150) + "```\n" // about 265 tokens
	chunks, _ := chunkMarkdown(sentencesText(30) + "\n\n" + code + "\n" + sentencesText(10))
	for _, c := range chunks {
		if n := strings.Count(c.Text, "```"); n != 0 && n != 2 {
			t.Errorf("the code is cut: %q", c.Text)
		}
	}
}

func TestTitleIsLeftOutOfPaths(t *testing.T) {
	doc, err := FromMarkdown([]byte("# Guide\n\n"+sentencesText(30)+"\n\n## Use\n\n"+sentencesText(30)), index.Document{ID: "x"}, false)
	if err != nil || doc.Title != "Guide" {
		t.Fatalf("%v, title %q", err, doc.Title)
	}
	if len(doc.Chunks[0].Headings) != 0 || strings.Join(doc.Chunks[len(doc.Chunks)-1].Headings, "/") != "Use" {
		t.Errorf("paths %q and %q", doc.Chunks[0].Headings, doc.Chunks[len(doc.Chunks)-1].Headings)
	}
}

func TestSlugs(t *testing.T) {
	text := "# What's *new* in `v2.0`?\n\na\n\n# Über uns & mehr\n\nb\n\n# Same\n\nc\n\n# Same\n\nd\n\n# Own {#my-anchor}\n\ne\n"
	c := &chunker{slugs: map[string]int{}}
	var got []string
	for _, b := range newMarkdownReader().parse(text) {
		if b.Kind == kindHeading {
			c.enter(b)
			got = append(got, c.path[len(c.path)-1].slug)
		}
	}
	want := "whats-new-in-v20 über-uns--mehr same same-1 my-anchor"
	if strings.Join(got, " ") != want {
		t.Errorf("got %q", got)
	}
}

// randomMarkdown is built from pieces that chunkers trip over.
func randomMarkdown(r *rand.Rand) string {
	pieces := []string{
		"# H1\n", "## H2\n", "#### H4 with *markup*\n", "Setext\n======\n", "text ", "Sentence one. Two! Three? ", "\n", "\n\n",
		"- item\n", "  - nested\n", "1. first\n", "> quote\n", "> > deeper\n", "```go\n", "```\n", "~~~\n", "    code\n",
		"| a | b |\n|---|---|\n", "| c | d |\n", "<div>\n", "</div>\n", "<!-- c -->\n", "---\n", "[x]: http://y\n", "- [ ] task\n",
		"日本語の文。次の文です。", "\t", "   ", strings.Repeat("long", 300), strings.Repeat("w ", 700), strings.Repeat("漢", 600),
		strings.Repeat("| cell ", 40) + "|\n", sentencesText(15), "\\\n", "é", "👩‍👩‍👧", "...", " . ",
	}
	var out strings.Builder
	for range 1 + r.IntN(60) {
		out.WriteString(pieces[r.IntN(len(pieces))])
	}
	return out.String()
}

func TestRandomMarkdownKeepsItsWords(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range longtest.Rounds(1_000, 10_000) {
		text := randomMarkdown(r)
		if strings.TrimSpace(text) == "" {
			continue
		}
		blocks := newMarkdownReader().parse(text)
		checkCover(t, blocks, 0, len(text))
		chunks, outline := chunkBlocks(text, blocks, "", "")
		checkDocument(t, &index.Document{ID: "x", Source: "file", Type: "md", Title: "t", Chunks: chunks, Outline: outline})
		checkWords(t, text, chunks)
		if t.Failed() {
			t.Fatalf("text: %q", text)
		}
	}
}

func checkCover(t testing.TB, blocks []block, start, end int) {
	t.Helper()
	if len(blocks) == 0 {
		return
	}
	for _, b := range blocks {
		if b.Start != start || b.End < b.Start {
			t.Fatalf("block %+v does not begin at %d", b, start)
		}
		checkCover(t, b.Children, b.Start, b.End)
		start = b.End
	}
	if start != end {
		t.Fatalf("blocks end at %d, not at %d", start, end)
	}
}

// patience is how much processor time reading a hostile text may take: far more than linear work does on the slowest
// machine, and far less than quadratic work on any.
func patience(size int) time.Duration { return time.Duration(size) * time.Minute / (1 << 20) }

// TestHostileTextTakesLinearTime holds texts that make parsers quadratic or exhaust their stack to a time that only
// linear work meets.
func TestHostileTextTakesLinearTime(t *testing.T) {
	size := longtest.Rounds(1<<17, 1<<20)
	fill := func(unit string) string { return strings.Repeat(unit, size/len(unit)) }
	texts := map[string]string{
		"one line": fill("word "), "no spaces": fill("x"), "cjk": fill("漢"), "quotes": fill(">"), "quotes spaced": fill("> "),
		"lists": fill("- "), "numbers": fill("1. "), "deep list, blank lines": strings.Repeat("- ", 20) + "x" + fill("\n"),
		"deep list, spaced blank lines": strings.Repeat("- ", 20) + "x" + fill("   \n"),
		"deep list, text":               strings.Repeat("- ", 20) + "x" + fill("\n\nab"),
		"staircase":                     staircase(700), "sentence end, spaces": "A." + fill(" "), "sentence end, brackets": "A." + fill(")"),
		"sentence ends": fill(". "), "brackets": fill("["), "links": fill("[a]("), "emphasis": fill("*a _b "), "backticks": fill("`"),
		"fences": fill("```\n"), "headings": fill("# a\n"), "all levels": fill("# a\n###### b\n## c\n"), "setext": fill("a\n=\n"),
		"wide table": "|" + fill("a|") + "\n|" + fill("-|") + "\n" + fill("|\n"), "table rows": "|a|b|\n|-|-|\n" + fill("|c|d|\n"),
		"definitions": fill("[a]: b\n"), "entities": fill("&amp;"), "comment": "<!--" + fill("a\n"), "tabs": fill("\t"),
		"heading": "# " + fill("a*b "), "info": "```" + fill("x") + "\ncode\n```\n", "rules": fill("* * *\n"),
		"code line": "```\n" + fill("y") + "\n```", "marks": "a" + fill("\u0301"),
	}
	for name, body := range texts {
		t.Run(name, func(t *testing.T) {
			began := worker.ProcessorTime()
			body = cleanText(body)
			chunks, _ := chunkBlocks(body, newMarkdownReader().parse(body), "", "")
			if took := worker.ProcessorTime() - began; took > patience(size) {
				t.Errorf("took %v for %d KB", took, len(body)>>10)
			}
			for i := range chunks {
				if n := text.EstimateTokens(chunks[i].Text); n > chunkLimit {
					t.Fatalf("chunk %d has %d tokens", i, n)
				}
			}
			t.Logf("%d chunks, %v", len(chunks), worker.ProcessorTime()-began)
		})
	}
}

func staircase(depth int) string {
	var out strings.Builder
	for i := range depth {
		out.WriteString(strings.Repeat("  ", i) + "- x\n")
	}
	return out.String()
}

func FuzzChunk(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		f.Add(randomMarkdown(r))
	}
	f.Add("- a\n\n  ```\n  b\n")
	f.Add("\n\n# \n#\n")
	f.Fuzz(func(t *testing.T, raw string) {
		text := cleanText(raw)
		if again := cleanText(text); again != text {
			t.Fatalf("cleaning again changes %q to %q", text, again)
		}
		blocks := newMarkdownReader().parse(text)
		checkCover(t, blocks, 0, len(text))
		chunks, outline := chunkBlocks(text, blocks, "", "https://x.example")
		if len(chunks) > 0 {
			checkDocument(t, &index.Document{ID: "x", Source: "file", Type: "md", Title: "t", Chunks: chunks, Outline: outline})
		}
		checkWords(t, text, chunks)
		for _, kind := range []blockKind{kindProse, kindLines} {
			plain, _ := chunkBlocks(text, paragraphs(text, 0, kind), "", "")
			checkWords(t, text, plain)
		}
	})
}

func chunkBlocks(source string, blocks []block, title, link string) ([]index.Chunk, []index.Heading) {
	c := chunked(source, blocks, title, link)
	return c.chunks, c.outline
}

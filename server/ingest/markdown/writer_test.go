package markdown

import (
	"slices"
	"strings"
	"testing"
)

// TestLimitHoldsWithinARow: one string in all cells of a row does not become more text than the limit.
func TestLimitHoldsWithinARow(t *testing.T) {
	const limit = 1 << 10
	row := slices.Repeat([]string{strings.Repeat("x", 100)}, 50)
	for name, rows := range map[string][][]string{"first": {row}, "second": {{"a", "b"}, row}, "wide": {{"a"}, make([]string, limit)}} {
		w := Writer{Limit: limit}
		w.Table(rows)
		w.Paragraph("after")
		if text, err := w.Text(); err == nil || text != "" || !w.Full() || w.out.Len() > limit || w.out.Cap() > 2*limit {
			t.Errorf("%s: %d bytes in a buffer of %d, %v", name, w.out.Len(), w.out.Cap(), err)
		}
	}
}

func FuzzWriter(f *testing.F) {
	f.Add("a|b\n# c", "```\nd", 100)
	f.Add("| - |", "1. x\n===", 7)
	f.Fuzz(func(t *testing.T, first, second string, limit int) {
		w := Writer{Limit: max(limit, 1)}
		w.Heading(2, first)
		w.Table([][]string{{first, second}, {second}})
		w.Item(1, true, second)
		w.Code("x", first)
		w.Paragraph(Link(first, second))
		text, err := w.Text()
		if len(text) > w.Limit || (err != nil) != w.Full() {
			t.Errorf("%d bytes of %d, %v", len(text), w.Limit, err)
		}
		if rows := strings.Count(text, "|---|---|"); err == nil && strings.TrimSpace(first+second) != "" && rows == 0 {
			t.Errorf("no table in %q", text)
		}
	})
}

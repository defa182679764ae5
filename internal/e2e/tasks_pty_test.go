//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quarry/internal/testkit/screentest"
)

// hands count the keys that a task takes.
type hands struct {
	*screentest.Screen
	keys int
}

func (h *hands) press(keys ...string) {
	h.keys += len(keys)
	h.Press(keys...)
}

func (h *hands) atMost(t *testing.T, keys int) {
	t.Helper()
	if h.keys > keys {
		t.Errorf("it took %d keys, want at most %d", h.keys, keys)
	}
	h.Press("ctrl+c")
	if err := h.WaitEnd(); err != nil {
		t.Error(err)
	}
}

// The tasks are those of docs/explorer.md.

func TestAnExpenseRuleIsQuoted(t *testing.T) {
	t.Parallel()
	screen := newHome(t).explore(usual(), "--sample")
	screen.WaitText("66 documents in")
	screen.Type("expense laptop")
	h := &hands{Screen: screen}
	h.press("enter")
	screen.WaitText(" 4 documents")
	h.press("enter")
	screen.WaitText("every 3 years") // the table of the policy in force
	h.press("V", "j", "j", "y")
	screen.WaitText("paragraph of [1] sent to your terminal's clipboard")
	screen.Wait("the clipboard, which is sent beside the screen", func(string) bool { return len(screen.Clipboard()) > 0 })
	copied := screen.Clipboard()
	if len(copied) != 1 {
		t.Fatalf("copied %q", copied)
	}
	for _, want := range []string{"Laptop", "€2,400", "every 3 years", "Expenses and equipment (from 1 March 2026)",
		"https://notes.kelderway.example/p/expenses-2026-8d30"} {
		if !strings.Contains(copied[0], want) {
			t.Errorf("%q is missing in\n%s", want, copied[0])
		}
	}
	h.atMost(t, 12)
}

func TestTwoPoliciesAreCompared(t *testing.T) {
	t.Parallel()
	screen := newHome(t).explore(usual(), "--sample")
	screen.WaitText("66 documents in")
	screen.Type("expenses policy")
	h := &hands{Screen: screen}
	h.press("enter")
	screen.WaitText("▌ 1  Expenses and equipment policy (Nov")
	h.press("=", "j", "enter")
	screen.Wait("both limits for hotels side by side", func(text string) bool {
		return strings.Contains(text, "Hotels up to €140 a night") && strings.Contains(text, "Hotel up to €175 a night")
	})
	screen.WaitText("pinned · Expenses and equipment policy")
	h.atMost(t, 8)
}

func TestYesterdaysSearchShowsWhatIsNew(t *testing.T) {
	t.Parallel()
	home := newHome(t)
	folder := filepath.Join(home.dir, "notes")
	write := func(name, content string) {
		t.Helper()
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first.md", "# First review\n\nThe alarm review of March.\n")
	home.must("add", "--quiet", folder)
	yesterday := home.explore(usual())
	yesterday.WaitText("1 document in")
	yesterday.Type("alarm review")
	yesterday.Press("enter")
	yesterday.WaitText("▌ 1  First review")
	yesterday.Press("ctrl+s")
	yesterday.WaitText("Save search")
	yesterday.Press("enter")
	yesterday.WaitText(`saved as "alarm review"`)
	yesterday.Press("q")
	if err := yesterday.WaitEnd(); err != nil {
		t.Fatal(err)
	}
	write("second.md", "# Second review\n\nThe alarm review of April.\n")
	home.must("sync", "--quiet")

	screen := home.explore(usual())
	screen.WaitText("alarm review") // among the saved searches
	h := &hands{Screen: screen}
	h.press("down", "1")
	screen.WaitText("alarm review: 1 new")
	screen.WaitText("✦ new")
	for line := range strings.Lines(screen.Text()) {
		if strings.Contains(line, "✦ new") && !strings.Contains(line, "Second review") {
			t.Errorf("new is %s", line)
		}
	}
	h.atMost(t, 3)
}

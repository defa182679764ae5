package reader

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTheCorporaAreRendered: no document of the real corpora is shown as plain text.
func TestTheCorporaAreRendered(t *testing.T) {
	t.Parallel()
	data := os.Getenv("QUARRY_DATA")
	if data == "" {
		t.Skip("QUARRY_DATA does not name a folder with real data")
	}
	documents := 0
	err := filepath.WalkDir(filepath.Join(data, "corpora"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !slices.Contains([]string{".md", ".markdown", ".mdx", ".txt"}, filepath.Ext(path)) {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		documents++
		for _, u := range unitsOf(string(content), nil, []string{"deploy"}, unit{interactive: true}) {
			if len(u.text) > maxUnit { // the index cuts such lines
				continue
			}
			if _, failure := renderUnit(u, 80, darkTheme(), 1); failure != "" {
				t.Errorf("%s: %s", path, failure)
			}
		}
		return nil
	})
	if err != nil || documents == 0 {
		t.Errorf("%d documents, %v", documents, err)
	}
}

func TestATableWithAnEmptyColumnIsRendered(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long words ", 20)
	for _, u := range unitsOf("| A |  | B |\n|---|---|---|\n| "+long+" |  | "+long+" |\n", nil, nil, unit{interactive: true}) {
		if _, failure := renderUnit(u, 80, darkTheme(), 1); failure != "" {
			t.Error(failure)
		}
	}
}

// What cannot be rendered is shown as it is stored, with the reason.
func TestTextThatIsNotRenderedHasAReason(t *testing.T) {
	t.Parallel()
	wide := "|" + strings.Repeat("a|", maxColumns+1) + "\n|" + strings.Repeat("-|", maxColumns+1) + "\n"
	u := unitsOf(wide, nil, nil, unit{})[0]
	rendered := Job{units: []unit{u}, keys: []jobKey{{id: u.id, width: 80}}, theme: darkTheme()}.Render()
	if want := []string{"a table of more than 64 columns"}; !slices.Equal(rendered.Failures, want) {
		t.Errorf("%q, want %q", rendered.Failures, want)
	}
}

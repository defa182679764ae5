//go:build unix

package gallery

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const docs = "../../../docs"

// The pictures that are committed are those that the tool makes: fourteen screens in two looks, and the demo.
func TestGallery(t *testing.T) {
	t.Parallel()
	written, err := os.ReadFile(filepath.Join(docs, "gallery.md"))
	if err != nil {
		t.Fatal(err)
	}
	if string(written) != page() {
		t.Error("docs/gallery.md is not what the tool writes; run make screens")
	}
	wanted := map[string]bool{}
	for _, s := range scenes() {
		for _, l := range []look{darkLook(), lightLook()} {
			name := pictureName(s, l)
			wanted[name] = true
			if !strings.Contains(string(written), `src="gallery/`+name+`"`) {
				t.Errorf("gallery.md does not show %s", name)
			}
			requirePicture(t, filepath.Join(docs, "gallery", name), l)
		}
	}
	if len(wanted) != 28 {
		t.Errorf("%d pictures, want fourteen screens in two looks", len(wanted))
	}
	files, err := os.ReadDir(filepath.Join(docs, "gallery"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !wanted[file.Name()] {
			t.Errorf("%s is no picture of the gallery", file.Name())
		}
	}
}

func TestDemo(t *testing.T) {
	t.Parallel()
	svg := requirePicture(t, filepath.Join(docs, "demo.svg"), darkLook())
	requireText(t, svg, "@keyframes", "step-end infinite", "prefers-reduced-motion")
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "docs/demo.svg") {
		t.Error("the README does not show docs/demo.svg")
	}
	whole := 0.0
	for _, s := range demo() {
		whole += s.hold.Seconds()
	}
	if whole < 45 || whole > 75 {
		t.Errorf("the demo takes %.0f s, want about a minute", whole)
	}
}

// requirePicture reads a picture, which must be XML of less than 1 MB on the background of its look.
func requirePicture(t *testing.T, path string, l look) string {
	t.Helper()
	svg, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(svg) >= 1_000_000 {
		t.Errorf("%s has %d bytes, want less than 1 MB", path, len(svg))
	}
	requireXML(t, string(svg))
	requireText(t, string(svg), `fill="`+hex(l.background)+`"`)
	return string(svg)
}

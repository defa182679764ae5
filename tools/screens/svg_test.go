//go:build unix

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"quarry/internal/testkit/screentest/terminal"
)

// drawn is the picture of a screen with this output on it.
func drawn(t *testing.T, width, height int, output string) string {
	t.Helper()
	term := terminal.New(terminal.Options{Width: width, Height: height})
	defer term.Close()
	if _, err := term.Write([]byte(output)); err != nil {
		t.Fatal(err)
	}
	p := picture{cells: term.Cells()}
	maskTimings(p.cells)
	p.x, p.y, p.visible = term.Cursor()
	return draw(p, darkLook())
}

func requireXML(t *testing.T, text string) {
	t.Helper()
	for decoder := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	}
}

func TestPictureOfAScreen(t *testing.T) {
	t.Parallel()
	svg := drawn(t, 40, 4, "\x1b[1mbold\x1b[m <&\"> \x1b[7m rev \x1b[m\r\n日本 x\r\n\x1b[4;38;2;255;0;0mline\x1b[m in 237 ms, 12.5 ms\r\n\x1b[2m──│▄▄ \x1b[m\x1b[4;1H")
	requireXML(t, svg)
	for _, want := range []string{
		`<text x="12" y="25.5" textLength="33.6" lengthAdjust="spacingAndGlyphs" font-weight="bold">bold</text>`,
		`&lt;&amp;&quot;&gt;</text>`,
		`<rect x="96" y="12" width="42" height="18" fill="#cdd6f4"/>`, // reversed: the foreground behind the text
		`fill="#1e1e2e">rev</text>`,
		`textLength="16.8" lengthAdjust="spacingAndGlyphs">日</text>`,
		`<text x="54" y="43.5" textLength="8.4" lengthAdjust="spacingAndGlyphs">x</text>`,
		`fill="#ff0000" text-decoration="underline">line</text>`,
		`in 114 ms, 11.4 ms</text>`,
		`<rect x="12" y="66" width="2" height="18"/>`,
		`<rect x="12" y="74.44" width="16.8" height="1.12" fill="#cdd6f4" opacity="0.6"/>`, // the line
		`<rect x="32.48" y="66" width="1.05" height="18" fill="#cdd6f4" opacity="0.6"/>`,
		`<rect x="37.2" y="75" width="16.8" height="9" fill="#cdd6f4" opacity="0.6"/>`, // bars half as high as a cell
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("%s is missing in\n%s", want, svg)
		}
	}
}

func TestPictureOfAnEmptyScreen(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{0, 0}, {1, 1}, {10, 0}} {
		requireXML(t, drawn(t, size[0], size[1], "\x1b[?25l"))
	}
	if svg := drawn(t, 10, 3, "\x1b[?25l"); strings.Contains(svg, "<text") {
		t.Errorf("text on an empty screen:\n%s", svg)
	}
}

func FuzzPictureIsXML(f *testing.F) {
	f.Add("a<b>&\"'  c")
	f.Add("\x1b[7;9m日\x1b[m")
	f.Fuzz(func(t *testing.T, output string) { requireXML(t, drawn(t, 20, 3, output)) })
}

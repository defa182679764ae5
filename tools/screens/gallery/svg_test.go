//go:build unix

package gallery

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"quarry/internal/testkit/screentest/terminal"
)

// screenOf is a screen with this output on it.
func screenOf(t *testing.T, width, height int, output string) frame {
	t.Helper()
	term := terminal.New(terminal.Options{Width: width, Height: height})
	defer term.Close()
	if _, err := term.Write([]byte(output)); err != nil {
		t.Fatal(err)
	}
	f := frame{cells: term.Cells(), shown: time.Second}
	fixTimings(f.cells)
	f.x, f.y, f.visible = term.Cursor()
	return f
}

func drawn(t *testing.T, width, height int, output string) string {
	t.Helper()
	return draw([]frame{screenOf(t, width, height, output)}, darkLook())
}

func requireXML(t *testing.T, text string) {
	t.Helper()
	for decoder := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in\n%.2000s", err, text)
		}
	}
}

func requireText(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
}

func TestPictureOfAScreen(t *testing.T) {
	t.Parallel()
	svg := drawn(t, 40, 4, "\x1b[1mbold\x1b[m <&\"> \x1b[7m rev \x1b[m\r\n日本 x\r\n\x1b[4;38;2;255;0;0mline\x1b[m\r\n\x1b[2m──│▄▄╮\x1b[m\x1b[4;1H")
	requireXML(t, svg)
	requireText(t, svg,
		`.c0{fill:#cdd6f4}`, `<rect x="80" width="40" height="17" class="c0"/>`, // reversed: the foreground behind the text
		`.c1{fill:#cdd6f4;font-weight:bold}`, `<text y="13" textLength="32" class="c1">bold</text>`,
		`&lt;&amp;&quot;&gt;</text>`,
		`<text y="13" textLength="16" lengthAdjust="spacingAndGlyphs">日</text>`, `<text x="40" y="13" textLength="8">x</text>`,
		`{fill:#ff0000;text-decoration:underline}`, `>line</text>`,
		`<rect width="2" height="17"/>`, // the cursor
		`{fill:#cdd6f4;opacity:.6}`,
		`<rect x="0" y="7.97" width="16" height="1.06"`, // the line
		`<rect x="19.5" y="0" width="1" height="17"`,
		`<rect x="24" y="8.5" width="16" height="8.5"`, // bars half as high as a cell
		`<path transform="translate(40 0)" d="m4 17 v-4.5 q0-4-4-4"`,
	)
}

func TestPictureOfAnEmptyScreen(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{0, 0}, {1, 1}, {10, 0}} {
		requireXML(t, drawn(t, size[0], size[1], "\x1b[?25l"))
	}
	if svg := drawn(t, 10, 3, "\x1b[?25l"); strings.Contains(svg, "<text") {
		t.Errorf("text on an empty screen:\n%s", svg)
	}
	requireXML(t, draw(nil, lightLook()))
}

// What stays the same is drawn once; what changes is seen in its frames only.
func TestAnimation(t *testing.T) {
	t.Parallel()
	frames := []frame{
		screenOf(t, 20, 2, "\x1b[?25lsame\x1b[2;1H\x1b[1mfirst"), screenOf(t, 20, 2, "\x1b[?25lsame\x1b[2;1H\x1b[1msecond"),
		screenOf(t, 20, 2, "\x1b[?25lsame\x1b[2;1H\x1b[1mfirst"), screenOf(t, 20, 2, "\x1b[?25lsame"),
	}
	frames[1].still = true
	svg := draw(frames, darkLook())
	requireXML(t, svg)
	for _, text := range []string{">same<", ">first<", ">second<"} {
		if n := strings.Count(svg, text); n != 1 {
			t.Errorf("%s is drawn %d times in\n%s", text, n, svg)
		}
	}
	requireText(t, svg, "<g><text y=\"13\" textLength=\"32\">same</text></g>", "prefers-reduced-motion",
		"{visibility:hidden;animation:c1 4s step-end infinite}@keyframes c1{0%{visibility:visible}25%{visibility:hidden}50%{visibility:visible}75%{visibility:hidden}}",
		"{visibility:visible;animation:c2 4s step-end infinite}@keyframes c2{0%{visibility:hidden}25%{visibility:visible}50%{visibility:hidden}}")
}

func TestTimings(t *testing.T) {
	t.Parallel()
	for before, after := range map[string]string{
		"╭ Results ──────── 5 · 237 ms ╮ x":             "╭ Results ────────── 5 · 4 ms ╮ x",
		"╭ Results ──────── 5 · 9 ms ╮ x":               "╭ Results ──────── 5 · 4 ms ╮ x",
		"“text” in the library · 14ms  │":               "“text” in the library · 4ms   │",
		"  retrieve   ▄▄                   12.3 ms  ok": "  retrieve   ▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄      2.6 ms  ok",
		"no time": "no time",
	} {
		cells := screenOf(t, 60, 1, "")
		for x, r := range []rune(before) {
			cells.cells[0][x].Text = string(r)
		}
		fixTimings(cells.cells)
		if got := strings.TrimRight(text(cells.cells[0]), " "); got != after {
			t.Errorf("%q:\n got %q\nwant %q", before, got, after)
		}
	}
}

func FuzzPictureIsXML(f *testing.F) {
	f.Add("a<b>&\"'  c")
	f.Add("\x1b[7;9m日\x1b[m")
	f.Fuzz(func(t *testing.T, output string) {
		requireXML(t, drawn(t, 20, 3, output))
		requireXML(t, draw([]frame{screenOf(t, 20, 3, output), screenOf(t, 20, 3, "x"+output)}, darkLook()))
	})
}

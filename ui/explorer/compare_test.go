package explorer

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/internal/testkit/screentest"
)

// policies is a server with policies of several years, each longer than a screen.
func policies() *script {
	return &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		var results []any
		for i, year := range []int{2024, 2025, 2026} {
			var rules strings.Builder
			for rule := range 120 {
				fmt.Fprintf(&rules, "Rule %d of %d.\n\n", rule+1, year)
			}
			result := sixFields(i+1, fmt.Sprintf("Leave policy %d (%s)", year, request.Query), rules.String())
			result["document_id"], result["ref"] = fmt.Sprint("leave-", year), fmt.Sprintf("leave-%d#0", year)
			result["chunk_count"] = 1
			results = append(results, result)
		}
		answer200(w, map[string]any{"results": results})
	}}
}

// waitShown waits until texts are on the screen, all at once, and others are not.
func waitShown(screen *screentest.Screen, shown []string, hidden ...string) {
	screen.Wait(fmt.Sprintf("%q without %q", shown, hidden), func(text string) bool {
		for _, want := range shown {
			if !strings.Contains(text, want) {
				return false
			}
		}
		for _, not := range hidden {
			if strings.Contains(text, not) {
				return false
			}
		}
		return true
	})
}

// A pinned passage is read beside the selected one: at once with the list in a wide window, in place of the list in a
// narrower one, below it in a high one, and by a key in a small one. Six keys compare two policies at any size.
func TestTwoPoliciesAreComparedAtEverySize(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{160, 45}, {120, 40}, {100, 32}, {80, 24}, {60, 20}, {40, 12}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			first, second := "Rule 3 of 2024.", "Rule 3 of 2025."
			if size[0] >= threeWidth { // further than the list quotes them, which is there
				first, second = "Rule 8 of 2024.", "Rule 8 of 2025."
			}
			screen := start(t, size[0], size[1], Options{Target: policies().remote(t)})
			screen.Type("leave")
			screen.Press("enter")
			screen.WaitText("Leave policy 2025 (leave)")
			screen.Press("=")
			screen.WaitText("pinned: Leave policy 2024")
			screen.Press("j")
			if size[0] >= threeWidth {
				waitShown(screen, []string{"pinned · Leave policy 2024", first, second, "▌ 2  Leave policy 2025"})
			}
			screen.Press("enter")
			if size[0] >= stackWidth && size[1] >= stackHeight {
				waitShown(screen, []string{"pinned · Leave policy 2024", first, second})
			} else {
				waitShown(screen, []string{second}, first)
			}
			screen.Press("ctrl+w", "end")
			screen.WaitText("Rule 120 of 2024.")
			switch {
			case size[0] >= threeWidth:
				waitShown(screen, []string{second, "▏ 2  Leave policy 2025"}, first)
			case size[0] >= stackWidth && size[1] >= stackHeight:
				waitShown(screen, []string{second}, first)
			default:
				waitShown(screen, []string{"pinned · Leave policy 20"}, second)
			}
			screen.Press("esc") // to the selected passage
			screen.WaitText(second)
			screen.Press("end")
			screen.WaitText("Rule 120 of 2025.")
			screen.Press("=")
			screen.WaitText("unpinned: Leave policy 2024")
			screen.WaitGone("Rule 120 of 2024.")
		})
	}
}

// The pinned passage outlives its search, and the keys that act on a passage act on it while it is read.
func TestThePinnedPassageOutlivesItsSearch(t *testing.T) {
	t.Parallel()
	screen := start(t, 170, 45, Options{Target: policies().remote(t), Query: "leave"})
	screen.WaitText("Leave policy 2025 (leave)")
	screen.Press("2", "=")
	screen.WaitText("pinned: Leave policy 2025")
	screen.Press("/", "ctrl+u")
	screen.Type("parental")
	screen.Press("enter")
	waitShown(screen, []string{"▌ 1  Leave policy 2024 (par", "pinned · Leave policy 2025 (leave)"})
	screen.Press("y")
	screen.WaitText("citation [1]")
	screen.Press("enter", "ctrl+w", "y")
	screen.WaitText("citation [2]")
	screen.Press("tab")
	screen.WaitText("● 1 marked")
	screen.Press("m")
	screen.WaitText("Collection")
	waitShown(screen, []string{"Leave policy 2025 (leave)", "“leave”"})
	screen.Press("esc", "ctrl+w") // to the results
	screen.WaitGone("Collection")
	screen.Press("3")
	waitShown(screen, []string{"Rule 1 of 2026.", "Rule 1 of 2025."})
}

// Pinned from the reader, a passage gives the keys to the results: the next one is selected there, and seen at once.
func TestTheOtherPassageIsSelectedAtOnce(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{160, 45}, {120, 40}, {80, 24}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			screen := start(t, size[0], size[1], Options{Target: policies().remote(t), Query: "leave"})
			screen.WaitText("Leave policy 2025 (leave)")
			screen.Press("enter")
			screen.WaitText("Rule 3 of 2024.")
			screen.Press("=")
			screen.WaitText("pinned: Leave policy 2024 (leave); select a passage to read beside it, = unpins")
			if size[0] >= sideWidth {
				screen.WaitText("pinned: select another")
			}
			screen.Press("j")
			waitShown(screen, []string{"▌ 2  Leave policy 2025"}, "pinned: select another")
			if size[0] >= sideWidth {
				screen.WaitText("Rule 3 of 2025.")
			}
		})
	}
}

// What is fetched of a document goes into the reader that asked for it.
func TestTheReadersOfAComparisonExpandByThemselves(t *testing.T) {
	t.Parallel()
	server := policies()
	server.search = func(w http.ResponseWriter, _ *http.Request, _ wire.SearchRequest) {
		var results []any
		for i, name := range []string{"old", "new"} {
			result := sixFields(i+1, "The "+name+" policy", "Middle of the "+name+" one.")
			result["document_id"], result["ref"] = name, name+"#1"
			result["chunk_ind"], result["chunk_start"], result["chunk_end"], result["chunk_count"] = 1, 1, 1, 3
			results = append(results, result)
		}
		answer200(w, map[string]any{"results": results})
	}
	asked, release := make(chan string), make(chan struct{})
	server.routes = map[string]http.HandlerFunc{"GET /document/chunks": func(w http.ResponseWriter, r *http.Request) {
		id := r.URL.Query().Get("document_id")
		asked <- id
		<-release
		var chunks []wire.Chunk
		for i, part := range []string{"Beginning", "Middle", "End"} {
			chunks = append(chunks, wire.Chunk{ChunkInd: i, Content: part + " of the " + id + " one."})
		}
		answer200(w, wire.DocumentChunks{Document: wire.DocumentInfo{ID: id, ChunkCount: 3}, Chunks: chunks})
	}}
	screen := start(t, 160, 45, Options{Target: server.remote(t), Query: "policy"})
	screen.WaitText("The new policy")
	screen.Press("=")
	screen.WaitText("pinned: The old policy")
	screen.Press("down", "enter")
	screen.WaitText("Middle of the new one.")
	screen.Press("ctrl+w", "E")
	if id := <-asked; id != "old" {
		t.Fatalf("asked for %s", id)
	}
	screen.Press("esc") // the answer comes while another reader has the keys
	close(release)
	waitShown(screen, []string{"Beginning of the old one.", "End of the old one.", "Middle of the new one."}, "End of the new one.")
}

func TestNothingIsPinnedWithoutResults(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 40, Options{Target: policies().remote(t), Query: "leave"})
	screen.WaitText("Leave policy 2025 (leave)")
	screen.Press("ctrl+w")
	screen.WaitText("no passage is pinned; = pins one")
}

// A second reader exists only while a passage is pinned.
func TestUnpinningDropsTheSecondReader(t *testing.T) {
	t.Parallel()
	screen := start(t, 160, 45, Options{Target: policies().remote(t), Query: "leave"})
	screen.WaitText("Leave policy 2025 (leave)")
	screen.Press("=")
	screen.WaitText("pinned: Leave")
	screen.Press("=")
	screen.WaitText("unpinned: Leave")
	screen.Press("q")
	m := screen.Model().(timeless).Model
	if m.compare.pinned != nil || m.reader != m.compare.following {
		t.Errorf("a reader is left: %+v", m.compare.pinned)
	}
}

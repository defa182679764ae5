package explorer

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
)

// Results of another query than the one in the box are dimmed and say so, until the query is theirs again.
func TestOldResultsSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 40, Options{Target: oneAbout().remote(t), Query: "rollback"})
	screen.WaitText("About rollback")
	dimmed := func() bool {
		for y := range 40 {
			for x := range 60 {
				if cell := screen.Cell(x, y); cell.Text == "A" && screen.Cell(x+1, y).Text == "b" {
					return !cell.Style.Bold
				}
			}
		}
		return false
	}
	screen.Press("/")
	screen.Type("s")
	screen.WaitText("results for “rollback”")
	screen.WaitText("↵ searches")
	screen.Wait("dimmed rows", func(string) bool { return dimmed() })
	screen.Press("backspace")
	screen.WaitGone("results for")
	screen.Wait("rows as they were", func(string) bool { return !dimmed() })
}

func TestResultsBelowAFailureSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		if len(request.Sources) > 0 {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		answer200(w, map[string]any{"results": []any{sixFields(1, "About "+request.Query, "All of it.")}})
	}}
	screen := start(t, 140, 40, Options{Target: server.remote(t), Query: "rollback"})
	screen.WaitText("About rollback")
	screen.Press("/")
	screen.Type(" source:slak")
	screen.Press("enter")
	screen.WaitText("source: slak ✕")
	screen.WaitText("results for “roll")
	screen.WaitText(`there is no source "slak"`)
}

func TestAStoppedSearchKeepsWhatItFound(t *testing.T) {
	t.Parallel()
	next := make(chan string)
	server := &script{search: func(w http.ResponseWriter, r *http.Request, _ wire.SearchRequest) {
		w.Header().Set("Content-Type", wire.MediaTypeNDJSON)
		for {
			select {
			case line := <-next:
				fmt.Fprintln(w, line)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}}
	screen := start(t, 140, 40, Options{Target: server.remote(t), Query: "rollback"})
	next <- `{"type":"provisional","response":{"results":[{"citation_id":1,"title":"First guess","content":"x","source_type":"web"}]}}`
	screen.WaitText("1 document so far")
	screen.Resize(40, 12)
	screen.WaitText("esc stops · ")
	screen.Resize(140, 40)
	screen.Press("esc")
	screen.WaitText("stopped; 1 provisional passage kept")
	screen.WaitText("First guess")
}

// The seconds until a server allows another search are counted down.
func TestTheSecondsOfALimitCountDown(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		server := &script{search: func(w http.ResponseWriter, _ *http.Request, _ wire.SearchRequest) {
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(http.StatusTooManyRequests)
		}}
		screen := start(t, 140, 40, Options{Target: server.remote(t), Query: "rollback"})
		screen.WaitText("try again in 3s")
		screen.WaitText("try again in 2s")
		screen.WaitText("try again in 1s")
		screen.WaitText("try again now")
	})
}

// The tabs of the picker count the same choice, and every number offered is the number that one gets.
func TestTheTabsOfThePickerCountTheSameChoice(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 44, Options{Target: sampleTarget(t), Query: "temperature within:90d"})
	screen.WaitText("5 documents ·")
	screen.Press("ctrl+f")
	screen.WaitText("▌[ ] △ Google Drive")
	screen.Press("space")
	screen.WaitText("▌[x] △ Google Drive")
	screen.Press("tab")
	screen.WaitText("last 90 days · 2 of 3 documents")
	screen.Wait("numbers without estimates", func(text string) bool {
		return strings.Contains(text, "( ) last 30 days  ") && !strings.Contains(text, "0 to ")
	})
	screen.WaitText("( ) any time      3")
	screen.WaitText("(●) last 90 days  2")
	screen.Press("enter")
	screen.WaitText("2 documents ·")
}

// Before the first search the picker has the counts of all documents at once, the most frequent source first.
func TestThePickerCountsBeforeASearch(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 44, Options{Target: sampleTarget(t)})
	screen.WaitText("66 documents in 12 sources")
	screen.Press("ctrl+f")
	screen.WaitText("▌[ ] # Slack")
	screen.Press("space", "tab")
	screen.WaitText("any time · 12 documents")
}

// What is shown are the best passages, where others may match as well.
func TestTheSummaryCountsNothingThatCannotBeReached(t *testing.T) {
	t.Parallel()
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		var results []any
		for i := range 8 {
			result := sixFields(1, "A long document", fmt.Sprint("Part ", i))
			result["document_id"], result["ref"] = "a", fmt.Sprint("a#", i)
			results = append(results, result)
		}
		answer200(w, map[string]any{"results": results, "total_matches": 1470, "matched": wire.Matched{Level: "all", Documents: 1470},
			"stages": []any{map[string]any{"name": "retrieve", "outcome": "ok", "ms": 0.1}}})
	}}
	options := Options{Target: server.remote(t), Query: "rollback"}
	late := 0
	options.Now = func() time.Time { late++; return today().Add(time.Duration(late) * 10 * time.Millisecond) }
	screen := start(t, 140, 40, options)
	screen.WaitText("best 1 document · 1,470 match")
	screen.WaitGone("of 1,470")
	screen.Press("w")
	screen.WaitText("outside the stages") // the rest of the time above them
}

// A total is certain only of a server that counts one set of documents, and all of it.
func TestTotalsSayHowCertainTheyAre(t *testing.T) {
	t.Parallel()
	for more, want := range map[string]string{
		`"matched":{"level":"all","documents":512}`:                                                     "best 1 document · 512 match",
		`"matched":{"level":"all","documents":512},"notes":[{"code":"counts_estimated","text":"many"}]`: "best 1 document · at least 512 match",
		`"notes":[]`: "best 1 document · about 512 match",
	} {
		server := &script{search: func(w http.ResponseWriter, _ *http.Request, _ wire.SearchRequest) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"results":[{"citation_id":1,"title":"T","content":"rollback","source_type":"file","document_id":"a","ref":"a#0",`+
				`"matches":true}],"total_matches":512,"stages":[{"name":"retrieve","outcome":"ok","ms":0.1}],%s}`, more)
		}}
		screen := start(t, 140, 40, Options{Target: server.remote(t), Query: "rollback"})
		screen.WaitText(want)
	}
}

package explorer

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
)

// What a search went on without is told in a few words wherever there are results, with the key to the rest.
func TestWhatFailedIsTold(t *testing.T) {
	t.Parallel()
	const (
		source = "jira could not be searched (HTTP 502): its results are missing"
		model  = "the language model did not answer in time (rephrase): the question was searched as it stands"
	)
	for _, test := range []struct {
		notes []string
		size  [2]int
		want  string
	}{
		{[]string{source}, [2]int{120, 40}, "! jira failed · w why"},
		{[]string{source}, [2]int{80, 24}, "! jira failed · w why"},
		{[]string{source}, [2]int{50, 10}, "! jira failed · w why · 1 document"},
		{[]string{source}, [2]int{70, 12}, "! jira failed · w why"},
		{[]string{source, model}, [2]int{120, 40}, "! jira failed · the model was too late · w why"},
		{[]string{source, model}, [2]int{160, 40}, "! jira failed · the model was too late · w why"},
		{[]string{source, model}, [2]int{100, 40}, "! jira failed · the model was too late · w why"},
		{[]string{model, source}, [2]int{58, 10}, "! jira failed · 1 more · w why · 1 document"},
		{[]string{model, source}, [2]int{40, 10}, "! 2 parts failed · w why · 1"},
	} {
		t.Run(fmt.Sprintf("%d at %v", len(test.notes), test.size), func(t *testing.T) {
			t.Parallel()
			server := &script{search: func(w http.ResponseWriter, _ *http.Request, _ wire.SearchRequest) {
				var notes []wire.Note
				for _, text := range test.notes {
					code := map[string]string{source: wire.NoteSourceFailed, model: wire.NoteStageTimeout}[text]
					notes = append(notes, wire.Note{Code: code, Text: text})
				}
				notes = append(notes, wire.Note{Code: wire.NoteNoModel, Text: "no language model"})
				answer200(w, map[string]any{"results": []any{sixFields(1, "Runbook", "Roll back.")}, "notes": notes,
					"stages": []any{map[string]any{"name": "retrieve", "outcome": "ok"}}})
			}}
			screen := start(t, test.size[0], test.size[1], Options{Target: server.remote(t), Query: "roll back"})
			screen.WaitText("Runbook")
			screen.WaitText(test.want)
			screen.Press("w")
			screen.Wait("why", func(text string) bool {
				return strings.Contains(strings.Join(strings.Fields(text), " "), "jira could not be searched (HTTP 502)") || test.size[1] < 20
			})
		})
	}
}

func TestTheSameIsSaidOnce(t *testing.T) {
	for _, test := range []struct{ texts, want []string }{
		{nil, nil},
		{[]string{"a", "b"}, []string{"a", "b"}},
		{[]string{"b", "a", "b", "c", "a", "b"}, []string{"b (3 times)", "a (2 times)", "c"}},
	} {
		if got := counting(test.texts); !slices.Equal(got, test.want) {
			t.Errorf("%q became %q, want %q", test.texts, got, test.want)
		}
	}
}

// What was searched for in place of a word is said at every size, also where there is no line for notes.
func TestAnUnknownWordWithANumberSaysWhatWasSearched(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{140, 40}, {80, 24}, {60, 20}, {40, 12}} {
		screen := start(t, size[0], size[1], Options{Target: sampleTarget(t), Query: "zebrazquagga25"})
		screen.WaitText("“zebrazquagga25”; showing “25”")
	}
}

// A note about the words of the query stands before the parts that failed: it explains the results that are there.
func TestAMissingWordStandsBeforeWhatFailed(t *testing.T) {
	t.Parallel()
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, _ wire.SearchRequest) {
		answer200(w, map[string]any{"results": []any{sixFields(1, "Runbook", "Roll back.")}, "notes": []wire.Note{
			{Code: wire.NoteStageFailed, Text: "the language model gave no usable answer (rephrase): the search continued without it"},
			{Code: wire.NoteWordMissing, Text: "no document has “zebra”"}}})
	}}
	screen := start(t, 120, 40, Options{Target: server.remote(t), Query: "zebra roll"})
	screen.WaitText("! no document has “zebra” · 1 part failed · w why")
	screen.Resize(160, 40)
	screen.WaitText("“zebra” · the model gave no usable answer · w why")
	screen.Resize(40, 12)
	screen.WaitText("no “zebra” · ! ")
}

// A query without a letter or a digit finds nothing because nothing in it can be searched.
func TestAQueryOfSigns(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{140, 40}, {40, 12}} {
		screen := start(t, size[0], size[1], Options{Target: sampleTarget(t), Query: "?! …"})
		screen.WaitText("can be searched")
		if text := screen.Text(); strings.Contains(text, "other words") || strings.Contains(text, "No results") {
			t.Error(text)
		}
	}
}

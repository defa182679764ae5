//go:build unix

package gallery

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// step is something that somebody does, and what is on the screen then.
type step struct {
	keys string        // pressed one after the other, separated by spaces
	wait string        // what the screen has then
	gone string        // what it has no longer
	hold time.Duration // for which the demo shows it
	said int           // pieces of its answer that the model has said by then; 0: as many as before
	// still is set in the demo's frame for those who want no animation.
	still bool
}

// scene is a picture of the gallery.
type scene struct {
	name  string // of its files
	title string
	about string
	query string // the program is started with
	steps []step
	at    place
}

// place is what is searched in a scene, and from where.
type place int

const (
	company place = iota // the sample library, which has the sources of a company
	own                  // files that somebody added
	visitor              // the sample library on another machine
)

const (
	question1   = "how do we roll back a deploy"
	question2   = "make a theme of my own"
	firstResult = " 1  " // the number of the first result
)

// yesterdaysSearches are what was searched for the day before the pictures.
func yesterdaysSearches() []scene {
	return []scene{{query: "on-call handover"}, {query: "parental leave source:notion,google_drive"},
		{query: "how do I expense a laptop"}, {query: "rename a theme", at: own}, {query: "on-call handover", at: own}}
}

// scenes are the gallery.
func scenes() []scene { return slices.Concat(companyScenes(), ownScenes(), visitorScenes()) }

// ownScenes are those with files of one's own.
func ownScenes() []scene {
	return []scene{
		{name: "home-own", title: "Home of one's own files", at: own, about: "Folders and files are divided by place: the folders that were " +
			"added, and those in them."},
		{name: "results-own", title: "Results in one's own files", query: question2, at: own,
			about: "The same list, with counts by place."},
		{name: "reader-own", title: "Reader of one's own files", query: question2, at: own,
			about: "A document of a folder beside the others; ctrl+e opens the file in an editor, at the line.",
			steps: []step{{keys: "enter", wait: "h results"}, {keys: "ctrl+d", wait: "h results"}}},
	}
}

// visitorScenes are those over SSH.
func visitorScenes() []scene {
	return []scene{
		{name: "home-ssh", title: "Home over SSH", at: visitor,
			about: "A visitor of a server has places, activity and questions, and nothing that others searched for."},
		{name: "results-ssh", title: "Results over SSH", query: question1, at: visitor,
			about: "The whole explorer, with nothing installed but `ssh`."},
		{name: "reader-ssh", title: "Reader over SSH", query: question1, at: visitor,
			about: "Copies go to the visitor's own terminal.",
			steps: []step{{keys: "enter", wait: "h results"}, {keys: "E z", wait: "part 1–5 of 5", gone: "╭ Results"}}},
	}
}

// companyScenes are those of the sample library. What one leaves behind is there in the next: the collection is the last.
func companyScenes() []scene {
	return []scene{
		{name: "home", title: "Home", about: "An empty query shows what there is to search, and the way back to earlier searches.",
			steps: []step{{keys: "down", wait: "Recent"}}},
		{name: "results", title: "Results", about: "Ranked passages with the query's words marked, counts per source above them, and the selected document beside them.",
			query: question1},
		{name: "reader", title: "Reader", about: "The document around the passage: headings, tables, code, and how far it goes on in both directions.",
			query: question1, steps: []step{{keys: "enter", wait: "results"}, {keys: "E z", wait: "part 1–5 of 5", gone: "╭ Results"}, {keys: "ctrl+d ctrl+d ctrl+d", wait: "Who may override"}}},
		{name: "filters", title: "Filters", about: "Every source of the matches with its count. Space selects, ! excludes.",
			query: question1, steps: []step{{keys: "ctrl+f", wait: "Sources"}, {keys: "space down space", wait: "Sources"}}},
		{name: "time", title: "Time", about: "When the matches were last changed, by month, with a range chosen on the histogram.",
			query: question1, steps: []step{{keys: "ctrl+f tab", wait: "Time"}, {keys: "left left shift+left shift+left", wait: "Time"}}},
		{name: "why", title: "Why these results", about: "The queries that ran with their weights, the filters and who set them, each stage with its time, and each result's rank.",
			query: "expense a laptop source:notion,slack", steps: []step{{keys: "w", wait: "Stages"}}},
		{name: "answer", title: "Answer", about: "An answer with citations, written while one reads; a number opens the cited document.",
			query: question1, steps: []step{{keys: "a", wait: "Answer"}, {said: len(answer()), wait: "Sources"}}},
		{name: "collection", title: "Collection", about: "Passages that were marked in several searches, to annotate, reorder and export.",
			query: question1, steps: []step{{keys: "tab tab", wait: "2 marked"}, {keys: "/ ctrl+u", wait: "marked"},
				{keys: typing("laptop budget") + " enter", wait: "laptop"}, {keys: "tab", wait: "3 marked"}, {keys: "m", wait: "Collection"}}},
	}
}

// typing names the keys of a text.
func typing(text string) string {
	var keys []string
	for _, r := range text {
		if r == ' ' {
			keys = append(keys, "space")
		} else {
			keys = append(keys, string(r))
		}
	}
	return strings.Join(keys, " ")
}

// demo is a minute of use.
func demo() []step {
	const blink, moment, look, read = 90 * time.Millisecond, 600 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second
	var steps []step
	for i, key := range strings.Fields(typing(question1)) {
		steps = append(steps, step{keys: key, wait: question1[:i+1], hold: blink})
	}
	steps[len(steps)-1].hold = moment
	steps = append(steps,
		step{keys: "enter", wait: firstResult, hold: read, still: true},
		step{keys: "down", wait: "2 of", hold: moment}, step{keys: "down", wait: "Jo Ortiz, ", hold: look},
		step{keys: "up up", wait: "1 of", hold: moment},
		step{keys: "enter", wait: "results", hold: look},
		step{keys: "ctrl+d", wait: "Find the last good version", hold: look},
		step{keys: "ctrl+d", wait: "Pause the canary", hold: look}, step{keys: "esc", wait: "filter", hold: moment},
		step{keys: "f", wait: "select", hold: moment}, step{keys: "right", wait: "select", hold: moment},
		step{keys: "space", wait: " ✕", hold: read}, step{keys: "esc u", wait: firstResult, gone: " ✕", hold: moment},
		step{keys: "ctrl+f", wait: "Sources", hold: look}, step{keys: "tab", wait: "Time", hold: look},
		step{keys: "left", wait: "Time", hold: moment}, step{keys: "shift+left", wait: "Time", hold: moment},
		step{keys: "shift+left", wait: "Time", hold: moment}, step{keys: "enter", wait: " ✕", hold: read},
		step{keys: "u", wait: firstResult, gone: " ✕", hold: moment},
		step{keys: "a", wait: "Answer", hold: moment})
	for i := range answer() {
		steps = append(steps, step{said: i + 1, wait: "Answer", hold: moment / 2})
	}
	return append(steps,
		step{wait: "Sources", hold: read}, step{keys: "1", wait: "Runbook", hold: read},
		step{keys: "esc esc", wait: firstResult, hold: moment},
		step{keys: "tab", wait: "1 marked", hold: moment}, step{keys: "tab", wait: "2 marked", hold: moment},
		step{keys: "m", wait: "Collection", hold: read}, step{keys: "esc", wait: firstResult, hold: moment},
		step{keys: "y", wait: "citation", hold: look},
		step{keys: "w", wait: "Stages", hold: read}, step{keys: "esc", wait: firstResult, hold: moment},
		step{keys: "/ ctrl+u", wait: "Recent", hold: read})
}

// page is the gallery.
func page() string {
	var b strings.Builder
	b.WriteString("# Gallery\n\n" +
		"The explorer in a dark and a light terminal of 120 columns and 36 rows: on the bundled sample library, on files of one's\n" +
		"own, for which this documentation and the sample's files stand, and over SSH. [demo.svg](demo.svg) shows a minute of use.\n\n" +
		"`make screens` writes this page and its pictures: it runs the program behind a terminal and presses the keys. The dates\n" +
		"and the times that searches took are fixed, so that a picture changes only when the screen does. The answer comes from a\n" +
		"scripted model on the same machine, not from a language model.\n")
	for _, s := range scenes() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", s.title, s.about)
		for _, l := range []look{darkLook(), lightLook()} {
			fmt.Fprintf(&b, "<img src=\"gallery/%s\" alt=\"%s in a %s terminal\" width=\"49%%\">\n", pictureName(s, l), s.title, l.name)
		}
	}
	return b.String()
}

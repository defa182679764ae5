//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"quarry/tools/drive"
	"quarry/tools/measure"
)

const (
	remoteHits    = 50   // passages that the server answers with
	remotePassage = 4000 // bytes of each, about
)

// remote is a server that knows no more than a bare Onyx: six fields for each passage, different ones for every query.
type remote struct {
	*httptest.Server
	mu       sync.Mutex
	answered time.Time // the last byte of the last answer
}

func newRemote() *remote {
	r := &remote{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/search", r.search)
	mux.HandleFunc("GET /api/manage/indexed-sources", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"sources": remoteSources()})
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"detail":"Not Found"}`)
	})
	r.Server = httptest.NewServer(mux)
	return r
}

func remoteSources() []string {
	return []string{"slack", "confluence", "github", "google_drive", "jira"}
}

// environ leads the program to the server.
func (r *remote) environ() []string {
	return []string{"ONYX_SERVER_URL=" + r.URL + "/api", "ONYX_PAT=onyx_pat_measured"}
}

func (r *remote) search(w http.ResponseWriter, request *http.Request) {
	var asked struct{ Query string }
	if err := json.NewDecoder(request.Body).Decode(&asked); err != nil {
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	}
	body, err := json.Marshal(map[string]any{"results": passages(asked.Query)})
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
	_ = http.NewResponseController(w).Flush()
	r.mu.Lock()
	r.answered = time.Now()
	r.mu.Unlock()
}

// lastByte is when the last answer was written to its end.
func (r *remote) lastByte() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answered
}

// passages are Markdown with all that a reader has to render: headings, lists, code, a table, links.
func passages(query string) []map[string]any {
	results := make([]map[string]any, remoteHits)
	sources := remoteSources()
	for i := range results {
		var b strings.Builder
		for part := 0; b.Len() < remotePassage; part++ {
			fmt.Fprintf(&b, "## Step %d.%d\n\nTo **%s** number %d, look at `deployctl status --step %d` first; the "+
				"[runbook](https://wiki.acme.example/%d/%d) tells when it is safe to go on, and whom to ask when it is not.\n\n"+
				"1. Find the last green build of stage %d.\n2. Tell everybody in *#deploys*, then wait for the answer.\n\n"+
				"```sh\ndeployctl rollback --to build-%d --stage %d # %s\n```\n\n| stage | owner |\n|---|---|\n| %d | team %d |\n\n",
				i, part, query, part, part, i, part, part, i*100+part, part, query, part, part%7)
		}
		results[i] = map[string]any{"citation_id": i + 1, "title": fmt.Sprintf("%s, part %d of the runbook", query, i+1),
			"content": b.String(), "link": fmt.Sprintf("https://wiki.acme.example/%d", i), "source_type": sources[i%len(sources)],
			"updated_at": fmt.Sprintf("2026-%02d-11T10:00:00Z", 1+i%9)}
	}
	return results
}

// ask types a query in place of the one before, and waits for its results and for what follows them.
func (s *session) ask(query string) error {
	for _, key := range []string{"/", "ctrl+e", "ctrl+u"} {
		if err := s.Press(key); err != nil {
			return err
		}
	}
	s.Settle(drive.Quiet)
	for _, key := range append(drive.Letters(query), "enter") {
		if err := s.Press(key); err != nil {
			return err
		}
	}
	first := query + ", part 1 of"
	if !s.Wait(drive.Limit, func(screen string) bool { return strings.Contains(screen, first) }) {
		return fmt.Errorf("no results for %q; the screen is\n%s", query, s.Text())
	}
	return nil
}

// remoteQuery is the nth question: short, so that its titles are not cut.
func remoteQuery(n int) string { return fmt.Sprintf("deploy %c%c", 'a'+n/26%26, 'a'+n%26) }

// openRemote starts the program at a server, with the query box in focus after a first search.
func (b *bench) openRemote() (*remote, *session, measure.Memory, error) {
	server := newRemote()
	there := *b
	there.extra = server.environ()
	s, err := there.open(b.binary)
	if err != nil {
		server.Close()
		return nil, nil, measure.Memory{}, err
	}
	first := measure.Memory{}
	if _, err = s.firstPaint(); err == nil {
		first, err = measure.MemoryOf(s.Pid())
	}
	if err == nil && !s.Wait(drive.Limit, func(screen string) bool { return strings.Contains(screen, "5 sources") }) {
		err = fmt.Errorf("the server was not reached; the screen is\n%s", s.Text())
	}
	if err == nil { // the query box is in focus: a slash would be text
		_, err = s.TypeAll(append(drive.Letters(remoteQuery(0)), "enter"), drive.Quiet)
	}
	if err != nil {
		s.Close()
		server.Close()
		return nil, nil, measure.Memory{}, err
	}
	return server, s, first, nil
}

// measureAnswer is about the time from the last byte of an answer to its frame. What follows that frame, such as a
// rendering of the reader, does not count.
func (b *bench) measureAnswer() ([]measure.Figure, error) {
	server, s, _, err := b.openRemote()
	if err != nil {
		return nil, err
	}
	defer server.Close()
	defer s.Close()
	var painted, all []float64
	for n := range max(10, b.runs) {
		query := remoteQuery(n + 1)
		if err := s.ask(query); err != nil {
			return nil, err
		}
		seen := time.Now()
		s.Settle(drive.Quiet)
		chunks := s.Since(0)
		painted = append(painted, measure.Milliseconds(max(0, seen.Sub(server.lastByte()))))
		all = append(all, measure.Milliseconds(max(0, chunks[len(chunks)-1].At.Sub(server.lastByte()))))
	}
	return []measure.Figure{
		measure.New("last byte of the answer → painted", "ms", painted, measure.P50(25)),
		measure.New("  → rendered", "ms", all),
	}, nil
}

// measureMemory looks at the results of many searches of a server, each of them once, with time for each to be rendered.
func (b *bench) measureMemory() ([]measure.Figure, error) {
	const rendering = 20 * time.Millisecond
	server, s, first, err := b.openRemote()
	if err != nil {
		return nil, err
	}
	defer server.Close()
	defer s.Close()
	for seen, n := 0, 1; seen < b.previews; n++ {
		if err := s.ask(remoteQuery(n)); err != nil {
			return nil, err
		}
		for range min(remoteHits-1, b.previews-seen) {
			if err := s.nudge("down", rendering); err != nil {
				return nil, err
			}
		}
		seen += remoteHits
	}
	last, err := measure.MemoryOf(s.Pid())
	if err != nil {
		return nil, err
	}
	after := fmt.Sprintf("after %d previews", b.previews)
	return []measure.Figure{
		measure.New("VmRSS at the first paint", "MB", []float64{first.Resident}),
		measure.New("VmRSS "+after, "MB", []float64{last.Resident}),
		measure.New("VmRSS gained", "MB", []float64{last.Resident - first.Resident}, measure.Most(20)),
		measure.New("RssAnon at the first paint", "MB", []float64{first.Anonymous}),
		measure.New("RssAnon "+after, "MB", []float64{last.Anonymous}, measure.Most(25)),
	}, nil
}

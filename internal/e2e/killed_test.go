//go:build unix

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"quarry/internal/testkit/scaletest"
)

// served is a `quarry serve` that can be killed.
type served struct {
	*exec.Cmd
	address string
	ended   chan struct{}
}

// serveOn starts a server on a database and a cluster.
func serveOn(t *testing.T, h home) *served {
	t.Helper()
	s := &served{Cmd: h.command(context.WithoutCancel(t.Context()), "serve", "--http", "127.0.0.1:0"), ended: make(chan struct{})}
	stderr, err := s.StderrPipe()
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(h.dir, fmt.Sprintf("serve-%d.log", s.Process.Pid)))
	if err != nil {
		t.Fatal(err)
	}
	listening := make(chan string, 1)
	go func() {
		defer close(s.ended)
		defer close(listening)
		address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			_, _ = fmt.Fprintln(log, lines.Text())
			if found := address.FindString(lines.Text()); found != "" && len(listening) == 0 {
				listening <- found
			}
		}
		_ = s.Wait()
		_ = log.Close()
	}()
	t.Cleanup(s.kill)
	if s.address = <-listening; s.address == "" {
		t.Fatal("it does not listen")
	}
	return s
}

func (s *served) kill() {
	_ = s.Process.Kill()
	<-s.ended
}

// distributed returns a home whose library is on a database and a cluster, with a token for it.
func distributed(t *testing.T, database, engine string) (home, string) {
	t.Helper()
	h := newHome(t)
	h.write("config/quarry/config.yaml", "index: {engine: \""+engine+"\"}\ndirectory: {url: \""+database+"\"}\n")
	var made struct{ Token string }
	decode(t, h.must("admin", "token", "add", "load", "--json"), &made)
	return h, made.Token
}

// load posts, deletes and searches documents of one server or several, and knows what must be found.
type load struct {
	t         *testing.T
	token     string
	addresses []string
	patience  time.Duration // for a request, with all its retries

	mutex           sync.Mutex
	stored, removed []int
	next            int // number of a document
	posts, looks    int // that were answered
	retries         int
	failed          int           // searches that were repeated
	failure         error         // of the last one
	slowest         time.Duration // search
	slowestPost     time.Duration
	progress        *sync.Cond
	ended           chan struct{}
	workers         sync.WaitGroup
}

func newLoad(t *testing.T, token string, addresses ...string) *load {
	l := &load{t: t, token: token, addresses: addresses, patience: 3 * time.Minute}
	l.progress = sync.NewCond(&l.mutex)
	l.start()
	return l
}

// start begins the load, or continues it after a stop.
func (l *load) start() {
	l.ended = make(chan struct{})
	for range 2 {
		l.workers.Go(func() { l.forever(l.write) })
		l.workers.Go(func() { l.forever(l.look) })
	}
}

func (l *load) forever(do func()) {
	for !l.t.Failed() {
		select {
		case <-l.ended:
			return
		default:
			do()
		}
	}
	l.progress.Broadcast()
}

// stop ends the load.
func (l *load) stop() {
	close(l.ended)
	l.workers.Wait()
}

// word is the word of a document that no other has.
func word(n int) string {
	letters := []byte("qx")
	for n += 26 * 26 * 26; n > 0; n /= 26 {
		letters = append(letters, byte('a'+n%26))
	}
	return string(letters)
}

// call sends a request to one server after the other until one answers it.
func (l *load) call(method, path string, body any, answer any, ok ...int) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	client := http.Client{Timeout: time.Minute}
	l.mutex.Lock()
	addresses := l.addresses
	l.mutex.Unlock()
	at := rand.IntN(len(addresses))
	for began, tries := time.Now(), 0; ; tries++ {
		err := once(&client, l.token, method, addresses[(at+tries)%len(addresses)]+path, encoded, answer, ok)
		if err == nil || time.Since(began) > l.patience {
			return err
		}
		l.mutex.Lock()
		l.retries++
		if path == "/search" {
			l.failed, l.failure = l.failed+1, err
		}
		l.mutex.Unlock()
		<-time.After(min(time.Second, 50*time.Millisecond<<tries)) // as a client would
	}
}

func once(client *http.Client, token, method, address string, body []byte, answer any, ok []int) error {
	request, err := http.NewRequest(method, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(response.Body); err != nil {
		return err
	}
	if !slices.Contains(append(ok, http.StatusOK), response.StatusCode) {
		return fmt.Errorf("%s %s: %s: %.300s", method, address, response.Status, &text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text.Bytes(), answer)
}

// write posts a document, and deletes one of three.
func (l *load) write() {
	l.mutex.Lock()
	l.next++
	n := l.next
	l.mutex.Unlock()
	began := time.Now()
	err := l.call("POST", "/onyx-api/ingestion", map[string]any{"document": map[string]any{"id": word(n), "source": "web",
		"semantic_identifier": "Note " + word(n), "sections": []any{map[string]any{"text": "A note about " + word(n) + " and rollbacks."}}}}, nil)
	if err != nil {
		l.fail("post: %v", err)
		return
	}
	took := time.Since(began)
	l.done(func() { l.slowestPost = max(l.slowestPost, took) })
	if n%3 > 0 {
		l.done(func() { l.stored, l.posts = append(l.stored, n), l.posts+1 })
		return
	}
	// Of a delete whose answer was lost, the repetition finds nothing.
	if err := l.call("DELETE", "/onyx-api/ingestion/"+word(n), nil, nil, http.StatusNotFound); err != nil {
		l.fail("delete: %v", err)
		return
	}
	l.done(func() { l.removed, l.posts = append(l.removed, n), l.posts+1 })
}

// look searches for a document that was stored, and one that was deleted.
func (l *load) look() {
	l.mutex.Lock()
	var want, gone int
	if len(l.stored) > 0 {
		want = l.stored[rand.IntN(len(l.stored))]
	}
	if len(l.removed) > 0 {
		gone = l.removed[rand.IntN(len(l.removed))]
	}
	l.mutex.Unlock()
	if want > 0 && !l.finds(want) {
		l.fail("document %d, which was stored, is not found", want)
	}
	if gone > 0 && l.finds(gone) {
		l.fail("document %d, which was deleted, is back", gone)
	}
}

// finds reports whether a search finds a document. One that says that documents may be missing is repeated.
func (l *load) finds(n int) bool {
	for {
		found, behind := l.search(n)
		if found || !behind || l.t.Failed() {
			return found
		}
	}
}

func (l *load) search(n int) (found, behind bool) {
	var answer struct {
		Results []struct {
			DocumentID string `json:"document_id"`
		}
		Notes []struct{ Code string }
	}
	began := time.Now()
	err := l.call("POST", "/search", map[string]any{"query": word(n)}, &answer)
	took := time.Since(began)
	if err != nil {
		select {
		case <-l.ended:
		default:
			l.fail("search: %v", err)
		}
		return true, false
	}
	l.done(func() { l.looks, l.slowest = l.looks+1, max(l.slowest, took) })
	for _, result := range answer.Results {
		found = found || result.DocumentID == word(n)
	}
	for _, note := range answer.Notes {
		behind = behind || note.Code == "index_behind"
	}
	return found, behind
}

func (l *load) done(count func()) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	count()
	l.progress.Broadcast()
}

func (l *load) fail(format string, values ...any) {
	select {
	case <-l.ended: // what was under way was stopped
		return
	default:
	}
	l.t.Errorf(format, values...)
	l.progress.Broadcast()
}

// goesOn waits until some more documents were posted and searches answered, and logs what that took since the last time. It
// returns how many searches failed.
func (l *load) goesOn(event string, posts, looks int) (failed int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for posts, looks = l.posts+posts, l.looks+looks; (l.posts < posts || l.looks < looks) && !l.t.Failed(); {
		l.progress.Wait()
	}
	l.t.Logf("%s: slowest search %v, slowest post %v, %d retries, %d of them of searches", event,
		l.slowest.Round(time.Millisecond), l.slowestPost.Round(time.Millisecond), l.retries, l.failed)
	failed = l.failed
	l.slowest, l.slowestPost, l.retries, l.failed = 0, 0, 0, 0
	return failed
}

// settle stops the load and checks every document, then for a while that nothing comes back.
func (l *load) settle(watch time.Duration) {
	l.stop()
	l.ended = make(chan struct{})
	check := func() {
		for _, n := range l.stored {
			if !l.finds(n) {
				l.t.Errorf("document %d is lost", n)
			}
		}
		for _, n := range l.removed {
			if l.finds(n) {
				l.t.Errorf("document %d is back", n)
			}
		}
	}
	rounds := 0
	for began := time.Now(); rounds == 0 || time.Since(began) < watch && !l.t.Failed(); rounds++ {
		check()
	}
	l.t.Logf("%d documents stored and %d deleted, each searched for %d times", len(l.stored), len(l.removed), rounds)
}

// asStored checks that the library has exactly the documents that were stored.
func (l *load) asStored(h home) {
	l.t.Helper()
	if got := libraryStatus(l.t, h).Documents; got != len(l.stored) {
		l.t.Errorf("the library has %d documents, %d were stored", got, len(l.stored))
	}
	var listed []struct {
		ID string `json:"document_id"`
	}
	if err := l.call("GET", "/onyx-api/ingestion", nil, &listed); err != nil || len(listed) != len(l.stored) {
		l.t.Errorf("%d documents are listed, %d were stored (%v)", len(listed), len(l.stored), err)
	}
}

// TestKilledNodes kills a follower, the leader and all nodes of a cluster while documents are added, deleted and searched. No
// document that was stored is lost, none that was deleted comes back, and no request fails for good.
func TestKilledNodes(t *testing.T) {
	cluster, database := scaletest.NewCluster(t, 3), scaletest.NewPostgres(t)
	h, token := distributed(t, database.URL, cluster.URL())
	l := newLoad(t, token, serveOn(t, h).address)
	const some = 25
	l.goesOn("all nodes run", some, some)
	for _, event := range []struct {
		name   string
		victim func(leader *scaletest.Node) []*scaletest.Node
	}{
		{"a follower is killed", func(leader *scaletest.Node) []*scaletest.Node {
			return slices.DeleteFunc(slices.Clone(cluster.Nodes), func(n *scaletest.Node) bool { return n == leader })[:1]
		}},
		{"the leader is killed", func(leader *scaletest.Node) []*scaletest.Node { return []*scaletest.Node{leader} }},
		{"all nodes are killed", func(*scaletest.Node) []*scaletest.Node { return cluster.Nodes }},
	} {
		leader, err := cluster.Leader(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		victims := event.victim(leader)
		for _, node := range victims {
			node.Kill()
		}
		if len(victims) < len(cluster.Nodes) {
			if failed := l.goesOn(event.name, some, some); failed > 0 {
				t.Errorf("%s: %d searches failed: %v", event.name, failed, l.failure)
			}
		} else {
			l.goesOn(event.name, 2, 0) // the documents are in the database
		}
		for _, node := range victims {
			if err := node.Start(); err != nil {
				t.Fatal(err)
			}
		}
		if err := cluster.AwaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.goesOn(event.name+", and back", some, some)
		if t.Failed() {
			break
		}
	}
	const longerThanReplication = 75 * time.Second // what a node missed appeared there after up to 64 s
	l.settle(longerThanReplication)
	l.asStored(h)
}

// TestKilledServer kills one of two servers on the same database and cluster while clients use both. A retry cures every
// error, and each document is there once.
func TestKilledServer(t *testing.T) {
	cluster, database := scaletest.NewCluster(t, 1), scaletest.NewPostgres(t)
	h, token := distributed(t, database.URL, cluster.URL())
	other := home{t, t.TempDir()} // another machine: nothing is shared but the configuration
	config, err := os.ReadFile(filepath.Join(h.dir, "config/quarry/config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	other.write("config/quarry/config.yaml", string(config))
	dies := serveOn(t, other) // the first one leads
	stays := serveOn(t, h)
	l := newLoad(t, token, stays.address, dies.address)
	const some = 25
	l.goesOn("both servers run", some, some)
	dies.kill()
	l.goesOn("one is killed", some, some)
	l.stop()
	began := time.Now()
	for indexes := true; indexes && !t.Failed(); { // what is pending waits for the lease of the one that is dead
		status := h.command(t.Context(), "status", "--json")
		status.Env = append(status.Env, "QUARRY_READONLY=1") // it indexes nothing itself
		out, err := status.Output()
		if err != nil {
			t.Fatal(err)
		}
		indexes = bytes.Contains(out, []byte("not indexed yet"))
	}
	t.Logf("everything is indexed by the other server %v later", time.Since(began).Round(time.Second))
	l.addresses = []string{stays.address, serveOn(t, other).address}
	l.start()
	l.goesOn("it is started again", some, some)
	l.settle(0)
	l.asStored(h)
	if !strings.Contains(other.must("status"), fmt.Sprint(len(l.stored))) {
		t.Error("the other server counts other documents")
	}
}

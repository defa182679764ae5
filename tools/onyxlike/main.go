// Onyxlike is a server that answers like an Onyx deployment, from recorded bodies, for trying quarry by hand against
// one that is slow, refuses or fails:
//
//	onyxlike -bodies client/testdata/onyx -delay 20s            every search takes 20 s
//	onyxlike -bodies client/testdata/onyx -scoped               403 on every listing, as for a read:search token
//	onyxlike -bodies client/testdata/onyx -fail error-429.json  every search fails with that body and status
//
// A question is answered line by line from chat/chat-stream.ndjson beside the folder of bodies, -pause between two lines.
//
// It accepts any token and needs one.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

type options struct {
	bodies string
	delay  time.Duration
	scoped bool
	fail   string
	search string
	pause  time.Duration
}

func main() {
	log.SetFlags(log.Ltime)
	var o options
	listen := flag.String("listen", "127.0.0.1:8099", "address")
	flag.StringVar(&o.bodies, "bodies", "client/testdata/onyx", "folder of recorded bodies")
	flag.DurationVar(&o.delay, "delay", 0, "how long a search takes")
	flag.BoolVar(&o.scoped, "scoped", false, "403 on every listing route")
	flag.StringVar(&o.fail, "fail", "", "an error body that every search is answered with; its status is in its name")
	flag.StringVar(&o.search, "search", "search.json", "the body that a search is answered with")
	flag.DurationVar(&o.pause, "pause", 100*time.Millisecond, "between two lines of an answer to a question")
	flag.Parse()
	if _, err := os.Stat(filepath.Join(o.bodies, o.search)); err != nil {
		log.Fatalf("no recorded bodies: %v", err)
	}
	server := &http.Server{Addr: *listen, Handler: logged(http.StripPrefix("/api", o.routes())), ReadHeaderTimeout: 5 * time.Second}
	log.Printf("listening on http://%s, bodies from %s", *listen, o.bodies)
	log.Fatal(server.ListenAndServe())
}

// listings maps the routes that a scoped token may not reach to their bodies.
var listings = map[string]string{
	"/persona":                     "persona.json",
	"/manage/indexed-sources":      "indexed-sources.json",
	"/manage/connector-status":     "connector-status.json",
	"/manage/document-set":         "document-set.json",
	"/federated":                   "federated.json",
	"/query/valid-tags":            "valid-tags.json",
	"/document/chunk-info":         "chunk-info.json",
	"/document/document-size-info": "document-size-info.json",
}

func (o options) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", o.body("health.json"))
	mux.HandleFunc("GET /version", o.body("version.json"))
	mux.HandleFunc("GET /me", needsToken(o.body("me.json")))
	for route, name := range listings {
		if o.scoped {
			name = "error-403-scope.json"
		}
		mux.HandleFunc("GET "+route, needsToken(o.body(name)))
	}
	mux.HandleFunc("POST /search", needsToken(o.answerSearch))
	mux.HandleFunc("POST /chat/send-chat-message", needsToken(o.answerQuestion))
	mux.HandleFunc("GET /chat/get-user-chat-sessions", needsToken(o.body("chat-sessions.json")))
	mux.HandleFunc("GET /chat/get-chat-session/{id}", needsToken(o.body("chat-session.json")))
	mux.HandleFunc("POST /chat/stop-chat-session/{id}", needsToken(func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, []byte(`{"message":"Chat session stopped"}`))
	}))
	mux.HandleFunc("DELETE /chat/delete-chat-session/{id}", needsToken(func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, []byte("null"))
	}))
	mux.HandleFunc("PUT /chat/rename-chat-session", needsToken(func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, []byte(`{"new_name":"Renamed"}`))
	}))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		write(w, http.StatusNotFound, []byte(`{"detail":"Not Found"}`))
	})
	return mux
}

func (o options) answerSearch(w http.ResponseWriter, r *http.Request) {
	select {
	case <-time.After(o.delay):
	case <-r.Context().Done():
		return
	}
	if o.fail != "" {
		o.body(o.fail)(w, r)
		return
	}
	o.body(o.search)(w, r)
}

// answerQuestion sends the lines of a recorded answer one by one.
func (o options) answerQuestion(w http.ResponseWriter, r *http.Request) {
	data, err := os.ReadFile(filepath.Join(o.bodies, "..", "chat", "chat-stream.ndjson"))
	if err != nil {
		write(w, http.StatusInternalServerError, fmt.Appendf(nil, `{"detail":%q}`, err))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for line := range strings.Lines(string(data)) {
		if _, err := io.WriteString(w, line); err != nil {
			return // the client went away
		}
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
		select {
		case <-time.After(o.pause):
		case <-r.Context().Done():
			return
		}
	}
}

var statusInName = regexp.MustCompile(`^error-(\d{3})`)

// body answers with a recorded file; the status of an error is in its name.
func (o options) body(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		data, err := os.ReadFile(filepath.Join(o.bodies, filepath.Base(name)))
		if err != nil {
			write(w, http.StatusInternalServerError, fmt.Appendf(nil, `{"detail":%q}`, err))
			return
		}
		status := http.StatusOK
		if m := statusInName.FindStringSubmatch(name); m != nil {
			status, _ = strconv.Atoi(m[1]) // three digits
		}
		if strings.HasSuffix(name, ".html") {
			w.Header().Set("Content-Type", "text/html")
		}
		if status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "37")
		}
		write(w, status, data)
	}
}

func needsToken(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token := r.Header.Get("X-Onyx-Authorization")
		if token == "" {
			token = r.Header.Get("Authorization")
		}
		if !strings.HasPrefix(token, "Bearer ") {
			write(w, http.StatusForbidden, []byte(`{"detail":"Access denied. User is not authenticated."}`))
			return
		}
		next(w, r)
	}
}

func write(w http.ResponseWriter, status int, data []byte) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	if _, err := w.Write(data); err != nil {
		log.Printf("the client went away: %v", err)
	}
}

func logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log.Printf("%s %s", r.Method, r.URL)
		if !strings.HasPrefix(r.URL.Path, "/api/") {
			r.URL.Path = "/api" + r.URL.Path
		}
		next.ServeHTTP(w, r)
	})
}

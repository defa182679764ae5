package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"quarry/internal/testkit/llmtest"
)

// onyxModels is testdata/onyx_models.json: the models of Onyx, for the routes that are served. A type is a name of a
// model, str, int, float, bool, datetime, uuid, object, any or null, in brackets for a list, with ? if it may be null.
type onyxModels struct {
	Routes   map[string]string            `json:"routes"`
	Requests map[string]string            `json:"requests"`
	Models   map[string]map[string]string `json:"models"`
}

func readModels(t *testing.T) onyxModels {
	t.Helper()
	var models onyxModels
	readTestdata(t, "testdata/onyx_models.json", &models)
	return models
}

var parameters = regexp.MustCompile(`\{[^}]*\}`)

// wrong lists what is wrong with a value of a type: fields that are missing, of another type, or null.
func (m onyxModels) wrong(at, typ string, value any) (wrong []string) {
	plain, nullable := strings.CutSuffix(typ, "?")
	if value == nil {
		if nullable || plain == "null" || plain == "any" {
			return nil
		}
		return []string{at + " is null, not " + typ}
	}
	if item, ok := strings.CutPrefix(plain, "["); ok {
		list, ok := value.([]any)
		if !ok {
			return []string{at + " is no list"}
		}
		for i, one := range list {
			wrong = append(wrong, m.wrong(fmt.Sprintf("%s[%d]", at, i), strings.TrimSuffix(item, "]"), one)...)
		}
		return wrong
	}
	fields, ok := m.Models[plain]
	if !ok {
		if !ofType(plain, value) {
			wrong = append(wrong, fmt.Sprintf("%s is %s, not %s", at, shortJSON(value), plain))
		}
		return wrong
	}
	object, ok := value.(map[string]any)
	if !ok {
		return []string{at + " is no " + plain}
	}
	for name, typ := range fields {
		field, ok := object[name]
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s has no %s (%s)", at, name, plain))
			continue
		}
		wrong = append(wrong, m.wrong(at+"."+name, typ, field)...)
	}
	return wrong
}

// ofType reports whether a decoded value is of a type that is no model.
func ofType(typ string, value any) bool {
	text, isText := value.(string)
	number, isNumber := value.(json.Number)
	switch typ {
	case "str":
		return isText
	case "int":
		return isNumber && !strings.ContainsAny(number.String(), ".eE")
	case "float":
		return isNumber
	case "bool":
		_, ok := value.(bool)
		return ok
	case "datetime": // as pydantic writes it
		_, err := time.Parse(time.RFC3339Nano, text)
		return err == nil && regexp.MustCompile(`:\d\d(\.\d{6})?Z$`).MatchString(text)
	case "uuid":
		_, err := uuid.Parse(text)
		return err == nil
	case "object":
		_, ok := value.(map[string]any)
		return ok
	}
	return typ == "any"
}

// TestOnyxRequests: every field of a request of Onyx is in testdata/requests.json, so that a story sends it.
func TestOnyxRequests(t *testing.T) {
	models := readModels(t)
	var named map[string][]string
	readTestdata(t, "testdata/requests.json", &named)
	byShape := map[string][]string{}
	for pattern, fields := range named {
		byShape[parameters.ReplaceAllString(pattern, "{}")] = fields
	}
	for route, model := range models.Requests {
		for _, field := range models.paths("", model) {
			if strings.HasPrefix(field, "federated_connectors.") {
				continue // there are none, so naming one is refused
			}
			if !slices.Contains(byShape[route], field) {
				t.Errorf("testdata/requests.json: %s has no %s, a field of Onyx's %s", route, field, model)
			}
		}
	}
}

// paths lists the fields of a type and of the models within it.
func (m onyxModels) paths(at, typ string) (paths []string) {
	for name, inner := range m.Models[strings.Trim(typ, "[]?")] {
		path := strings.TrimPrefix(at+"."+name, ".")
		paths = append(append(paths, path), m.paths(path, inner)...)
	}
	return paths
}

// TestOnyxRoutes holds the server to testdata/onyx_routes.txt, which lists the routes of Onyx with what becomes of them
// here: served, served with a difference, or answered with a status.
func TestOnyxRoutes(t *testing.T) {
	w := newWorld(t)
	withChat(w, nil, llmtest.Text("Yes."))
	text, err := os.ReadFile("testdata/onyx_routes.txt")
	w.check(err)
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		route, says, found := strings.Cut(strings.TrimSpace(line), "\t")
		method, path, ok := strings.Cut(route, " ")
		why, differs := strings.CutPrefix(says, "differs: ")
		if !found || !ok || differs && strings.TrimSpace(why) == "" {
			t.Fatalf("testdata/onyx_routes.txt: %q", line)
		}
		answer := httptest.NewRecorder()
		request := httptest.NewRequestWithContext(t.Context(), method, parameters.ReplaceAllString(path, "987654"), strings.NewReader("{"))
		request.Host = "localhost:8080"
		request.Header.Set("Authorization", "Bearer "+w.tokens["owner"])
		w.public.ServeHTTP(answer, request)
		body := strings.TrimSpace(answer.Body.String())
		absent := answer.Code == http.StatusNotFound && body == `{"detail":"Not Found"}`
		switch says {
		case "404":
			if !absent {
				t.Errorf("%s: HTTP %d %.100s, not 404", route, answer.Code, body)
			}
		case "405": // another method of that path is served
			if answer.Code != http.StatusMethodNotAllowed {
				t.Errorf("%s: HTTP %d %.100s, not 405", route, answer.Code, body)
			}
		default:
			if absent || answer.Code == http.StatusMethodNotAllowed || says != "served" && !differs {
				t.Errorf("%s: HTTP %d %.100s, but it is %s", route, answer.Code, body, says)
			}
			listed[parameters.ReplaceAllString(route, "{}")] = true
		}
	}
	own := map[string]bool{ // that Onyx has not
		"GET /connectors": true, "GET /admin/indexing/status": true, "GET /document/chunks": true, "GET /search/facets": true,
		"GET /search/suggest": true, "POST /build/sandbox/search": true,
	}
	for _, r := range routes() {
		if shape := parameters.ReplaceAllString(r.pattern, "{}"); !listed[shape] && !own[shape] {
			t.Errorf("testdata/onyx_routes.txt does not say that %s is served", r.pattern)
		}
	}
}

// TestModelsAreOfServedRoutes: the table of models covers the routes that the list calls served.
func TestModelsAreOfServedRoutes(t *testing.T) {
	models := readModels(t)
	known := map[string]bool{}
	for _, r := range routes() {
		known[parameters.ReplaceAllString(r.pattern, "{}")] = true
	}
	for _, route := range slices.Sorted(maps.Keys(models.Routes)) {
		if !known[route] {
			t.Errorf("testdata/onyx_models.json: %s is not served", route)
		}
	}
	if len(models.Routes) < 50 || len(models.Models) < 80 {
		t.Errorf("%d routes, %d models", len(models.Routes), len(models.Models))
	}
}

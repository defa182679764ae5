package client

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
)

func TestErrorsOfALibrarySpeakOfNoServer(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", wire.MediaTypeJSON)
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"error_code":"NOT_FOUND","detail":"not in the library: \"/x\""}`))
	})
	c, err := New(Options{BaseURL: InProcessURL, Transport: InProcess(handler), Local: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.ChangeLibrary(t.Context(), wire.RemoveRequest{Refs: []string{"/x"}}, nil)
	failure, ok := err.(*Error)
	if !ok || failure.Kind != NotAvailable || failure.Error() != `not in the library: "/x"` ||
		!strings.Contains(failure.Remedy(), "quarry status") {
		t.Errorf("%v: %+v", err, failure)
	}
	used := (&Error{Kind: RateLimited, Local: true, Path: "/search", Reason: "the budget is used up", RetryAfter: 90 * time.Minute}).Remedy()
	if !strings.Contains(used, "llm.budget") || !strings.Contains(used, "1h30m") {
		t.Errorf("of a budget that is used up: %q", used)
	}
}

func TestWhatMakesNoSenseAsAFilterIsNamed(t *testing.T) {
	query := ParseQuery(`deploy since:2026-02-30 within:99999999999d tag:team source: http://x ratio:3 source:slack`, time.Now())
	if got := strings.Join(query.Unread, " "); got != "since:2026-02-30 within:99999999999d tag:team" {
		t.Errorf("unread %q", got)
	}
}

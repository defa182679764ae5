package client

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"quarry/client/wire"
)

// TestLocalLibraryErrorsNameNoRoute: a library in this process has no server, route or status to blame.
func TestLocalLibraryErrorsNameNoRoute(t *testing.T) {
	e := &Error{Kind: Server, Status: 500, Code: wire.CodeDiskFull, Reason: "what happened", Method: "POST", Path: "/library/add", Local: true}
	if text := e.Error(); text != "what happened" {
		t.Error(text)
	}
}

// TestAdministrationErrorsNameTheCommand: the list that helps is that of what is missing, not of what was asked for.
func TestAdministrationErrorsNameTheCommand(t *testing.T) {
	for body, want := range map[string]string{
		`404 {"error_code":"USER_NOT_FOUND","detail":"x"}`:                                        "list them with quarry admin user list",
		`404 {"error_code":"DOCUMENT_SET_NOT_FOUND","detail":"x"}`:                                "list them with quarry admin document-set list",
		`404 {"detail":"Not Found"}`:                                                              "",
		`409 {"error_code":"DUPLICATE_RESOURCE","detail":"x"}`:                                    "choose another name, or remove that one first",
		`400 {"error_code":"INVALID_INPUT","detail":"agent 0 is built in and cannot be removed"}`: "name another one",
		`400 {"error_code":"INVALID_INPUT","detail":"x"}`:                                         "",
	} {
		status, text, _ := strings.Cut(body, " ")
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			code, _ := strconv.Atoi(status)
			w.WriteHeader(code)
			_, _ = w.Write([]byte(text))
		})
		c, err := New(Options{BaseURL: InProcessURL, Transport: InProcess(handler), Local: true})
		if err != nil {
			t.Fatal(err)
		}
		var e *Error
		if _, err = c.AdminUsers(t.Context()); !errors.As(err, &e) || e.Remedy() != want || (e.Kind == BadRequest) == (status == "404") {
			t.Errorf("%s: %v, %s", body, err, e.Remedy())
		}
	}
}

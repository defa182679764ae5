package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"quarry/ui/target"
)

// together answers as a server in this process that searched the library and a bare Onyx.
const together = `{"results":[
{"citation_id":1,"matches":true,"title":"Rolling back","content":"We roll back with deployctl.","link":null,"source_type":"file","updated_at":null,
 "document_id":"file:/notes/a.md","ref":"file:/notes/a.md#0","chunk_ind":0,"chunk_start":0,"chunk_end":0,"chunk_count":1,
 "selected":true,"origin":"local"},
{"citation_id":2,"matches":true,"title":"Runbook","content":"A roll back is announced.","link":"https://acme.example/r","source_type":"confluence",
 "updated_at":"2026-08-01T00:00:00+00:00","origin":"acme","selected":true}],
"citation_mapping":{"1":"file:/notes/a.md","2":""},"total_matches":1,"matched":{"level":"all","documents":1,"all":1},"stages":[{"name":"retrieve","ms":1,"outcome":"ok","detail":""}],
"notes":[{"code":"source_failed","text":"wiki did not answer in time: its results are missing"}],"searched":["local","acme","wiki"]}`

func TestSeveralInOneGo(t *testing.T) {
	s := newOnyx(t)
	s.on("/search", body(http.StatusOK, []byte(together)))
	var asked []target.Request
	doors := testDoors(s.URL)
	decide := doors.decide
	doors.decide = func(where target.Request) (target.Choice, error) {
		asked = append(asked, where)
		choice, err := decide(where)
		choice.Profile = "acme"
		if where.Together {
			choice.Also = []target.Choice{{Kind: target.KindRemote, Profile: "wiki"}}
		}
		if where.Profile != "" {
			choice.Profile = where.Profile
		}
		return choice, err
	}
	for _, format := range []string{"json", "text"} {
		t.Run(format, func(t *testing.T) {
			asked = nil
			got := run(t, doors, terminal{}, "search", "roll back", "--also", "local,wiki", "--source", "nowhere", "--format", format).check(t, ExitSuccess)
			golden.RequireEqual(t, got.out)
			if want := (target.Request{Together: true, Also: []string{"local", "wiki"}}); len(asked) != 1 || !reflect.DeepEqual(asked[0], want) {
				t.Errorf("asked for %+v, want %+v", asked, want)
			}
			if format == "text" && !strings.Contains(got.err, "wiki did not answer in time") {
				t.Errorf("stderr: %s", got.err)
			}
		})
	}
	t.Run("read where it was found", func(t *testing.T) {
		saved := filepath.Join(t.TempDir(), "saved.json")
		if err := os.WriteFile(saved, []byte(together), 0o600); err != nil {
			t.Fatal(err)
		}
		asked = nil
		run(t, doors, terminal{}, "read", "--from", saved, "1")
		if len(asked) != 2 || asked[0].Together || asked[1].Profile != "local" {
			t.Errorf("asked for %+v", asked)
		}
	})
	t.Run("nothing named", func(t *testing.T) {
		run(t, doors, terminal{}, "search", "roll back", "--also", "").check(t, ExitUsage).twoLines(t, "--also is empty")
	})
}

func TestTheExplorerTakesAlso(t *testing.T) {
	doors := testDoors("http://127.0.0.1:1")
	var asked target.Request
	decide := doors.decide
	doors.decide = func(where target.Request) (target.Choice, error) {
		asked = where
		return decide(where)
	}
	run(t, doors, terminal{tty: true}, "--also", "local").check(t, ExitSuccess)
	if !asked.Together || !reflect.DeepEqual(asked.Also, []string{"local"}) {
		t.Errorf("asked for %+v", asked)
	}
}

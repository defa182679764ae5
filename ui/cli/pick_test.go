package cli

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/ui/target"
)

// picks is a machine on whose terminal a person chooses passages, after those that cannot be chosen were refused.
func picks(t *testing.T, kind target.Kind, chosen ...wire.SearchResult) (machine testMachine, refused *[]string) {
	t.Helper()
	refused = &[]string{}
	machine = testDoors("http://127.0.0.1:1")
	machine.decide = func(target.Request) (target.Choice, error) {
		return target.Choice{Kind: kind, Profile: "test", ServerURL: "https://onyx.example", LibraryDir: "/lib"}, nil
	}
	machine.Explore = func(_ context.Context, e Exploration) error {
		if e.Chosen == nil {
			t.Error("nobody waits for a choice")
			return nil
		}
		for _, result := range chosen {
			if reason := e.Unfit(result); reason != "" {
				*refused = append(*refused, reason)
				return nil
			}
		}
		if len(chosen) > 0 {
			e.Chosen(chosen)
		}
		return nil
	}
	return machine, refused
}

func picked(number int, title, id, link string) wire.SearchResult {
	result := wire.SearchResult{CitationID: &number, Title: title, Content: "Taxis need a *receipt*.", SourceType: "file", DocumentID: id,
		Ref: id + "#0"}
	if link != "" {
		result.Link = &link
	}
	return result
}

func TestPickPrintsWhatIsChosen(t *testing.T) {
	t.Parallel()
	web := picked(1, "Expenses", "w1", "https://wiki.acme.com/1")
	file := picked(2, "Taxis", "file:/docs/a b.md", "file:///docs/a%20b.md")
	for _, test := range []struct {
		form string
		want string
	}{
		{"", "https://wiki.acme.com/1\nfile:///docs/a%20b.md\n"},
		{"citation", "[1] [Expenses](https://wiki.acme.com/1) (File)\n[2] Taxis (a b.md#0)\n"},
		{"passage", "> Taxis need a *receipt*.\n\n— [1] [Expenses](https://wiki.acme.com/1) (File)\n\n" +
			"> Taxis need a *receipt*.\n\n— [2] Taxis (a b.md#0)\n"},
	} {
		arguments := []string{"--pick", "taxi"}
		if test.form != "" {
			arguments = append(arguments, "-o", test.form)
		}
		machine, _ := picks(t, target.KindLibrary, web, file)
		if got := run(t, machine, terminal{}, arguments...).check(t, ExitSuccess); got.out != test.want || got.err != "" {
			t.Errorf("%s: %q, want %q; %s", test.form, got.out, test.want, got.err)
		}
	}
	machine, _ := picks(t, target.KindLibrary, file, file)
	if got := run(t, machine, terminal{}, "--pick", "-o", "path").check(t, ExitSuccess).out; got != "/docs/a b.md\n" {
		t.Errorf("path: %q", got)
	}
	machine, _ = picks(t, target.KindLibrary, web, file)
	var results []struct{ Title, Ref string }
	if got := run(t, machine, terminal{}, "--pick", "-o", "json").check(t, ExitSuccess).out; json.Unmarshal([]byte(got), &results) != nil ||
		len(results) != 2 || results[1].Title != "Taxis" || results[1].Ref != "file:/docs/a b.md#0" {
		t.Errorf("json: %s", got)
	}
}

// Without a choice nothing is printed at all.
func TestPickWithoutAChoice(t *testing.T) {
	t.Parallel()
	machine, _ := picks(t, target.KindLibrary)
	if got := run(t, machine, terminal{}, "--pick").check(t, ExitInterrupted); got.out != "" || got.err != "" {
		t.Errorf("%q %q", got.out, got.err)
	}
}

// A passage without the form that is asked for cannot be chosen, and the reason names a form that it has.
func TestPickRefusesWhatHasNoSuchForm(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		form   string
		kind   target.Kind
		result wire.SearchResult
		want   string
	}{
		{"link", target.KindLibrary, picked(1, "x", "w1", ""), "-o citation"},
		{"link", target.KindRemote, picked(1, "x", "w1", "--version"), "-o citation"},
		{"link", target.KindRemote, picked(1, "x", "w1", "https://a.example/%zz"), "-o citation"},
		{"path", target.KindLibrary, picked(1, "x", "w1", "https://wiki.acme.com/1"), "-o link"},
		{"path", target.KindLibrary, picked(1, "x", "file:/docs/a%0Ab.md", ""), "-o link"},
		{"path", target.KindLibrary, picked(1, "x", "file:-c", ""), "-o link"},
	} {
		machine, refused := picks(t, test.kind, test.result)
		run(t, machine, terminal{}, "--pick", "-o", test.form).check(t, ExitInterrupted)
		if len(*refused) != 1 || !strings.Contains((*refused)[0], test.want) {
			t.Errorf("%s of %+v: %q", test.form, test.result, *refused)
		}
	}
}

// Documents of a server have no path here, whatever their ids look like.
func TestPathsAreThoseOfThisMachine(t *testing.T) {
	t.Parallel()
	for _, kind := range []target.Kind{target.KindRemote, target.KindSlack, target.KindSample} {
		machine, _ := picks(t, kind, picked(1, "x", "file:/etc/passwd", ""))
		run(t, machine, terminal{}, "--pick", "-o", "path").check(t, ExitNotAvailable).twoLines(t, "not files on this machine", "-o link")
	}
	together := target.Choice{Kind: target.KindRemote, Profile: "acme", Also: []target.Choice{{Kind: target.KindLibrary, Profile: "local"}}}
	result := picked(1, "x", "file:/docs/a.md", "")
	for origin, want := range map[string]bool{"local": true, "acme": false} {
		result.Origin = origin
		if got := unfit(result, pickPath, together) == ""; got != want {
			t.Errorf("a file of %s: %t", origin, got)
		}
	}
}

func TestPickUsage(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		"--pick -o paths": `Did you mean "path"?`, "--pick -": "standard input", "--pick --json": "--pick and --json", "--pick --plain": "--plain",
		"--pick --sort newest": "--pick and --sort", "-o json x": "works with --pick only", "--pick -o": "-o", "search x --pick": "unknown flag --pick",
	} {
		machine, _ := picks(t, target.KindLibrary)
		run(t, machine, terminal{}, strings.Fields(arguments)...).check(t, ExitUsage).twoLines(t, want)
	}
	machine, _ := picks(t, target.KindLibrary)
	run(t, machine, terminal{env: []string{"TERM=dumb"}}, "--pick").check(t, ExitUsage).twoLines(t, "TERM is dumb")
	run(t, guestDoors(t, "http://127.0.0.1:1"), terminal{}, "--pick", "x").check(t, ExitUsage).twoLines(t, "--pick is not available over SSH")
}

package ssh_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"quarry/ui/ssh"
)

func TestAPersonExplores(t *testing.T) {
	v := sit(t, sample(t, nil).mustConnect(), 100, 30, "")
	v.sees("documents in")
	v.Send("roll back a release")
	v.sees("Runbook: rolling back a release")
	v.press("enter", "y")
	v.sees("sent to your terminal's clipboard")
	v.Wait(time.Minute, func(string) bool { return len(v.Clipboard()) > 0 }) // which is sent beside the screen
	if copied := v.Clipboard(); len(copied) != 1 || !strings.Contains(copied[0], "rolling back a release") {
		t.Errorf("copied %q", copied)
	}
	v.press("q")
	if code := v.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestAScriptSearches(t *testing.T) {
	conn := sample(t, nil).mustConnect()
	for _, command := range []string{`roll back a release`, `search "roll back a release"`, `"roll back" release -slack`, `search --source confluence rollback`} {
		got := run(t, conn, command, "")
		var answer struct{ Results []struct{ Title string } }
		if err := json.Unmarshal([]byte(got.out), &answer); err != nil || got.code != 0 || len(answer.Results) == 0 {
			t.Errorf("%s: exit %d, %v\n%s%s", command, got.code, err, got.out, got.err)
		}
	}
	if got := run(t, conn, "", ""); got.code != 0 || !strings.Contains(got.out, "Usage:") {
		t.Errorf("exit %d: %s", got.code, got.out)
	}
	if got := run(t, conn, "add /etc/passwd", ""); got.code != 2 || !strings.Contains(got.err, "not available over SSH") || got.out != "" {
		t.Errorf("exit %d: %s%s", got.code, got.out, got.err)
	}
}

// The home over SSH has what a library answers and what is newest, and no conversations without a model.
func TestTheHomeOfAVisitor(t *testing.T) {
	conn := sample(t, func(o *ssh.Options) { o.NoModel = true }).mustConnect()
	v := sit(t, conn, 120, 36, "")
	v.sees("documents in")
	v.sees("Answered here")
	v.sees("Newest")
	v.sees("F1 all keys")
	if !v.Wait(patience, func(screen string) bool { return !strings.Contains(screen, "chats") }) {
		t.Errorf("conversations are offered:\n%s", v.Text())
	}
}

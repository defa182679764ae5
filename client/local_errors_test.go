package client

import (
	"strings"
	"testing"

	"quarry/client/wire"
)

// TestLocalLibraryErrorsSayWhatToDo: a library in this process has no server, route or status to blame.
func TestLocalLibraryErrorsSayWhatToDo(t *testing.T) {
	for code, want := range map[string]string{
		wire.CodeDiskFull: "free some space", wire.CodeLibraryNewer: "newer quarry",
		wire.CodeNetworkFileSystem: "local disk", wire.CodeLibraryReadOnly: "who may write",
		wire.CodeLibraryOlder: "quarry sync",
		wire.CodeLibraryBusy:  "wait", wire.CodeLibraryDamaged: "sync --check", wire.CodeLibraryLost: "backup",
	} {
		e := &Error{Kind: Server, Status: 500, Code: code, Reason: "what happened", Method: "POST", Path: "/library/add", Local: true}
		if !strings.Contains(e.Remedy(), want) || strings.Contains(e.Remedy(), "administrator") {
			t.Errorf("%s: %s", code, e.Remedy())
		}
		if text := e.Error(); strings.Contains(text, "HTTP") || strings.Contains(text, "/library") {
			t.Errorf("%s: %s", code, text)
		}
	}
}

//go:build linux || darwin

package ingest

import (
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestLinksAndSpecialFiles(t *testing.T) {
	outside := t.TempDir()
	must(t, os.WriteFile(outside+"/secret.md", []byte("secret"), 0o600))
	l := newLibrary(t, map[string]string{"d/a.md": "a", "d/sub/b.md": "b"})
	links := map[string]string{"d/loop": "..", "d/sub/self": ".", "d/out": outside, "d/out.md": outside + "/secret.md",
		"d/inside.md": "sub/b.md", "d/broken.md": "nowhere.md"}
	for name, target := range links {
		must(t, os.Symlink(target, l.path(name)))
	}
	must(t, syscall.Mkfifo(l.path("d/pipe.md"), 0o644))
	socket, err := net.Listen("unix", l.path("d/s.md"))
	must(t, err)
	defer socket.Close()
	must(t, os.WriteFile(l.path("d/closed.md"), []byte("x"), 0))
	l.counts(l.add(Options{}, "d"), 2+asRoot(), 0, 0, 0)
	reasons := l.events.skipped()
	for name, part := range map[string]string{"d/loop": "outside", "d/out": "outside", "d/out.md": "outside", "d/broken.md": "broken",
		"d/pipe.md": "pipe", "d/s.md": "socket", "d/closed.md": "permission"} {
		if reason := reasons[l.path(name)]; !strings.Contains(reason, part) && (part != "permission" || asRoot() == 0) {
			t.Errorf("%s: %q", name, reason)
		}
	}
	if reason, listed := reasons[l.path("d/inside.md")]; listed {
		t.Errorf("inside.md: %s", reason)
	}
	for id := range l.idx.documents {
		if strings.Contains(id, "secret") || strings.Contains(id, "out") {
			t.Errorf("%s is stored", id)
		}
	}
	// A file that becomes a link out of the folder is gone.
	must(t, os.Remove(l.path("d/a.md")))
	must(t, os.Symlink(outside+"/secret.md", l.path("d/a.md")))
	l.counts(l.sync(), 0, 0, 1, 1+asRoot())
	// The root itself may be named by a link, but is not stored again.
	must(t, os.Symlink(l.path("d/sub"), l.path("named")))
	l.counts(l.add(Options{}, "named"), 0, 0, 0, 1)
	must(t, os.Symlink(outside, l.path("other")))
	l.counts(l.add(Options{}, "other"), 1, 0, 0, 0)
}

// asRoot is 1 where no file is closed to us.
func asRoot() int {
	if os.Geteuid() == 0 {
		return 1
	}
	return 0
}

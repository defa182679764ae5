//go:build unix

package gallery

import (
	"cmp"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// program returns the program on this machine at a time.
func (m *machine) program(now time.Time, arguments ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, arguments...)
	cmd.Env = []string{
		Clock + "=" + now.Format(time.RFC3339), "PATH=" + os.Getenv("PATH"), "HOME=" + m.home, "TMPDIR=" + m.home, "LANG=C.UTF-8",
		"TERM=xterm-256color", "COLORTERM=truecolor", "XDG_CONFIG_HOME=" + m.home, "XDG_DATA_HOME=" + m.home,
		"XDG_STATE_HOME=" + m.home, "XDG_CACHE_HOME=" + m.home, "QUARRY_HOME=" + filepath.Join(m.home, "library"),
		"QUARRY_EMBEDDINGS_MODE=off",
	}
	return cmd, nil
}

// addFiles adds folders as somebody has them: the documentation of a repository, and the files of the sample library.
func (m *machine) addFiles(repository string) error {
	for i, one := range [][2]string{{"handbook", "server/sample/library"}, {"quarry", "docs"}} {
		from, folder := one[1], filepath.Join(m.home, "files", one[0])
		added := today().AddDate(0, 0, 3*i-3) // the second one since the last visit
		if err := copyTexts(filepath.Join(repository, from), folder, added); err != nil {
			return err
		}
		cmd, err := m.program(added, "add", folder)
		if err != nil {
			return err
		}
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("add %s: %w: %s", from, err, said)
		}
	}
	return nil
}

// copyTexts copies the Markdown files of a folder. They get dates that depend on nothing but their order: those of a
// checkout are the time of the checkout.
func copyTexts(from, to string, changed time.Time) error {
	const apart = 73 * time.Hour
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		inside, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, inside)
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(target, data, 0o600); err != nil {
			return err
		}
		changed = changed.Add(-apart)
		return os.Chtimes(target, changed, changed)
	})
}

// serve starts a server of the sample library for visitors over SSH.
func (m *machine) serve() error {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	_, m.port, err = net.SplitHostPort(free.Addr().String())
	if err = cmp.Or(err, free.Close()); err != nil {
		return err
	}
	address := net.JoinHostPort("127.0.0.1", m.port)
	if m.server, err = m.program(today(), "serve", "--sample", "--ssh", address, "--ssh-open"); err != nil {
		return err
	}
	var said strings.Builder
	m.server.Stderr = &said
	if err := m.server.Start(); err != nil {
		m.server = nil
		return err
	}
	for start := time.Now(); time.Since(start) < limit; time.Sleep(quiet) {
		if connection, err := net.Dial("tcp", address); err == nil {
			return connection.Close()
		}
	}
	return fmt.Errorf("nothing answers on %s: %s", address, said.String())
}

// visit returns the arguments of ssh for a visit, without anything that the person who runs this has set up.
func (m *machine) visit() []string {
	return []string{"-F", "none", "-tt", "-p", m.port, "-o", "StrictHostKeyChecking=no", "-o", "LogLevel=ERROR",
		"-o", "UserKnownHostsFile=" + filepath.Join(m.home, "known_hosts"), "-o", "IdentityAgent=none",
		"-o", "SendEnv=COLORTERM", "127.0.0.1"}
}

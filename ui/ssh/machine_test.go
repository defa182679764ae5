package ssh_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/internal/testkit/screentest/terminal"
	"quarry/server"
	"quarry/ui/ssh"
	"quarry/ui/target"
)

// TestNothingOfThisMachineIsSent: neither a command's output in any form nor a screen has the folder that was added.
func TestNothingOfThisMachineIsSent(t *testing.T) {
	const secret = "jos-own-machine"
	folder := filepath.Join(t.TempDir(), secret, "zoo")
	for name, text := range map[string]string{
		"animals/quokka.md": "# Quokkas\n\n## Smiles\n\nThe quokka smiles at deploys. See [wombats](wombat.md).\n",
		"animals/wombat.md": "# Wombats\n\nA quokka is no wombat, which digs deploys.\n",
		"copy/quokka.md":    "# Quokkas\n\n## Smiles\n\nThe quokka smiles at deploys. See [wombats](wombat.md).\n",
	} {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	library := filepath.Join(t.TempDir(), "library")
	s, err := server.Open(t.Context(), server.Options{Home: library})
	if err != nil {
		t.Fatal(err)
	}
	_, err = administrator(t, s).ChangeLibrary(t.Context(), wire.AddRequest{Paths: []string{folder}}, nil)
	if closed := s.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	h := open(t, target.Request{Library: library}, func(options *ssh.Options) { options.Open = true })
	conn := h.mustConnect(interactive())
	commands := []string{"quokka", "nothing-at-all", "read zoo/animals/quokka.md", "read zoo/animals/quokka.md:5 --outline", "read zoo/none.md",
		"read 'file:" + filepath.ToSlash(folder) + "/animals/quokka.md'", "read " + filepath.Join(folder, "animals", "wombat.md"),
		"sources", "document-sets", "tags", "agents", "status", "search quokka --explain", "search quokka --raw", "search --in zoo/animals quokka"}
	for _, format := range []string{"json", "ndjson", "md", "tsv", "text", "agent"} {
		commands = append(commands, "search quokka --format "+format)
	}
	for _, command := range commands {
		if got := run(t, conn, command, ""); strings.Contains(got.out+got.err, secret) {
			t.Errorf("%s:\n%s%s", command, got.out, got.err)
		} else if strings.Contains(command, "quokka") && !strings.Contains(got.out, "uokka") && !strings.Contains(command, "file:") {
			t.Errorf("%s: exit %d\n%s%s", command, got.code, got.out, got.err)
		}
	}
	var sent journal
	v := sitAt(t, conn, terminal.Options{Width: 120, Height: 36, Tap: func(output []byte) { _, _ = sent.Write(output) }}, "")
	v.sees("type to search")
	v.Send("quokka")
	v.sees("╭ Results")
	v.press("enter", "y")
	if !v.Wait(patience, func(string) bool { return len(v.Clipboard()) > 0 }) {
		t.Fatalf("nothing is copied:\n%s", v.Text())
	}
	v.press("o")
	v.sees("no link")
	if strings.Contains(v.Text()+strings.Join(v.Clipboard(), " ")+sent.String(), secret) {
		t.Errorf("the screen:\n%s\ncopied: %q", v.Text(), v.Clipboard())
	}
	v.press("ctrl+c")
	v.leaves()
}

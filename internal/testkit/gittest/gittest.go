// Package gittest writes git repositories without git.
package gittest

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Commit commits files, by their names with slashes, on top of what was committed before to the repository with the folder
// gitDir. author is "Name <mail>".
func Commit(t testing.TB, gitDir string, files map[string]string, author string, at time.Time) {
	t.Helper()
	head := filepath.Join(gitDir, "HEAD")
	parent := ""
	if before, err := os.ReadFile(head); err == nil {
		parent = "parent " + strings.TrimSpace(string(before)) + "\n"
	}
	who := fmt.Sprintf("%s %d +0000", author, at.Unix())
	commit := object(t, gitDir, "commit", fmt.Sprintf("tree %s\n%sauthor %s\ncommitter %s\n\nChange files\n", tree(t, gitDir, files), parent, who, who))
	check(t, os.WriteFile(head, []byte(commit+"\n"), 0o644))
}

// tree stores the files and folders of a folder.
func tree(t testing.TB, gitDir string, files map[string]string) (id string) {
	t.Helper()
	entries, folders := map[string]string{}, map[string]map[string]string{}
	for name, content := range files {
		folder, rest, nested := strings.Cut(name, "/")
		if !nested {
			entries[name] = "100644 " + object(t, gitDir, "blob", content)
			continue
		}
		if folders[folder] == nil {
			folders[folder] = map[string]string{}
		}
		folders[folder][rest] = content
	}
	for name, inner := range folders {
		entries[name] = "40000 " + tree(t, gitDir, inner)
	}
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		mode, hash, _ := strings.Cut(entries[name], " ")
		raw, err := hex.DecodeString(hash)
		check(t, err)
		fmt.Fprintf(&out, "%s %s\x00%s", mode, name, raw)
	}
	return object(t, gitDir, "tree", out.String())
}

func object(t testing.TB, gitDir, kind, content string) (id string) {
	t.Helper()
	data := fmt.Sprintf("%s %d\x00%s", kind, len(content), content)
	sum := sha1.Sum([]byte(data))
	id = hex.EncodeToString(sum[:])
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, err := z.Write([]byte(data))
	check(t, err)
	check(t, z.Close())
	file := filepath.Join(gitDir, "objects", id[:2], id[2:])
	check(t, os.MkdirAll(filepath.Dir(file), 0o755))
	check(t, os.WriteFile(file, packed.Bytes(), 0o644))
	return id
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

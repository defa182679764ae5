package ingest

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"quarry/server/ingest/mailmime"
)

var maildir = container{kind: "Maildir", source: mailSource, is: isMaildir, claims: inMaildir,
	state: stateInMaildir, read: readMessages}

// isMaildir reports whether a folder is a Maildir, or a folder of one. Copies may lack empty folders.
func isMaildir(l layout) bool {
	if !slices.Contains(l.entries, "cur/") {
		return false
	}
	if slices.Contains(l.entries, "new/") {
		return true
	}
	files, _ := fs.ReadDir(l, "cur")
	return slices.ContainsFunc(files, func(file fs.DirEntry) bool {
		_, flags := cutFlags(file.Name())
		return flags != "" && !file.IsDir()
	})
}

// cutFlags cuts the name of a message, and the flags that mail programs change.
func cutFlags(name string) (unique, flags string) {
	at := strings.LastIndex(name, "2,")
	if at < 1 || !strings.ContainsRune(":;!", rune(name[at-1])) { // a colon cannot be in all file systems
		return name, ""
	}
	return name[:at-1], name[at-1:]
}

// inMaildir claims messages, the files with which servers describe a Maildir, and hidden folders, which are its
// folders.
func inMaildir(name string) bool {
	if folder, isFolder := strings.CutSuffix(name, "/"); isFolder {
		return strings.HasPrefix(folder, ".") && !strings.Contains(folder, "/")
	}
	if hidden, rest, found := strings.Cut(name, "/"); found && strings.HasPrefix(hidden, ".") {
		name = rest
	}
	folder, file := path.Split(name)
	switch folder {
	case "cur/", "new/", "tmp/":
		return !strings.HasPrefix(file, ".")
	case "":
		return file == "subscriptions" || slices.ContainsFunc([]string{"dovecot", "courier", "maildir"},
			func(program string) bool { return strings.HasPrefix(file, program) })
	}
	return false
}

// stateInMaildir returns the state of a message, which is never written again. Only that it was deleted counts of its
// flags, which are in its name, and whether it is new does not count.
func stateInMaildir(name string, info fs.FileInfo) string {
	folder, file := path.Split(name)
	unique, flags := cutFlags(file)
	switch path.Base(folder) {
	case "cur", "new":
		if !strings.Contains(flags, "T") {
			return fmt.Sprintf("%s\x00%d\x00%d", path.Join(path.Dir(path.Clean(folder)), unique), info.Size(),
				info.ModTime().UnixNano())
		}
	}
	return ""
}

// readMessages reads a folder in which each message is a file.
func readMessages(c *collector) {
	m := newMailReading(c, mailSource)
	for _, name := range c.names {
		m.addFile(name, foldersOfMaildir(name))
	}
	m.read()
}

// foldersOfMaildir returns the folders of a message as mail programs show them: .Work.2024/cur/1 is in Work, 2024.
func foldersOfMaildir(name string) []string {
	hidden, found := strings.CutPrefix(name, ".")
	if !found {
		return nil
	}
	hidden, _, _ = strings.Cut(hidden, "/")
	return strings.Split(mailmime.DecodeFolder(hidden), ".")
}

package ingest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/server/ingest/githistory"
)

// longestConfig bounds ignore files, in bytes.
const longestConfig = 1 << 20

// foundFile is a file found by a walk.
type foundFile struct {
	path       string // absolute, with slashes
	name       string // from the root, with slashes; "" if it is the root
	info       fs.FileInfo
	format     format
	source     string      // host of its repository; "" for none
	reason     string      // why it is skipped, if that is known without opening it
	repository *repository // nil: none
	remote     *remoteFile // nil: a file
	inner      []string    // of a container that is a folder: the names of its files
}

// walker lists the files below a root by name. Links are not followed: targets below the root are read themselves,
// others are not part of it.
type walker struct {
	root  string               // absolute, with slashes
	roots map[string]rootState // those below the root are left out
	// others are the other roots, which may be places in this one under other paths.
	others []otherRoot
	own    []string // see Local
	// include are the patterns of secrets that are read.
	include []string
	files   []foundFile
	// unread are folders that could not be listed.
	unread  []foundFile
	leftOut wire.LeftOut
	source  string // host of the root folder's repository
	// clones are the addresses of the repositories that were met, by their folders.
	clones map[string]string
	// repository returns that of a folder; nil if histories are not needed.
	repository func(folder string, at githistory.Checkout) *repository
}

// place is a folder on the way down, with the rules that apply to it.
type place struct {
	name       string // from the root; "" for the root
	chain      []*ignoreRules
	source     string
	repository *repository
	// container is the one that the folder is, or is in.
	container *foundContainer
}

// walk lists what is below start, a path from the root, or "" for all.
func (w *walker) walk(ctx context.Context, start string) error {
	info, err := os.Stat(filepath.FromSlash(w.root))
	if err != nil {
		return err
	}
	if !info.IsDir() {
		w.addFile("", info, place{repository: w.around(w.root)})
		return nil
	}
	w.others = w.otherRoots()
	at := w.enter(place{}, "")
	w.source = at.source
	if start == "" {
		return w.folder(ctx, at)
	}
	at, target, err := w.descend(at, start)
	if err != nil {
		return err
	}
	if target.IsDir() {
		return w.folder(ctx, at)
	}
	w.entry(target, start, at)
	return nil
}

var errUnreachable = errors.New("it is hidden, ignored, reached by a link, or the library's own")

// descend follows name from a place. It fails if a walk would not reach it.
func (w *walker) descend(at place, name string) (place, fs.FileInfo, error) {
	var info fs.FileInfo
	var err error
	for part := range strings.SplitSeq(name, "/") {
		if info != nil && !info.IsDir() {
			return at, nil, errUnreachable
		}
		sub := path.Join(at.name, part)
		if info, err = os.Lstat(w.absolute(sub)); err != nil {
			return at, nil, err
		}
		if info.Mode()&fs.ModeSymlink != 0 || isSkippedName(part) && !w.includes(sub) || w.isOwn(sub) ||
			ignored(at.chain, sub, info.IsDir()) {
			return at, nil, errUnreachable
		}
		if info.IsDir() {
			at = w.enter(at, sub)
		}
	}
	return at, info, nil
}

// enter reads the ignore rules and the repository of a folder. The rules of git end at a repository of its own; those
// of .quarryignore do not.
func (w *walker) enter(parent place, name string) place {
	at := place{name: name, chain: parent.chain, source: parent.source, repository: parent.repository,
		container: parent.container}
	git, isRepository := githistory.Find(w.absolute(name))
	if hasGit(w.absolute(name)) {
		at.chain = slices.DeleteFunc(slices.Clone(at.chain), func(rules *ignoreRules) bool { return rules.ofGit })
	} else if name == "" {
		at.chain = w.rulesAbove()
	}
	if isRepository {
		at.chain = w.rulesOf(git, at.chain, name, "")
	}
	at.chain = w.addRules(at.chain, w.absolute(path.Join(name, ".gitignore")), name, "", true)
	at.chain = w.addRules(at.chain, w.absolute(path.Join(name, ".quarryignore")), name, "", false)
	if isRepository {
		at.source = hostSource(git.Remote())
		at.repository = w.meet(path.Join(w.root, name), git)
	} else if name == "" {
		at.repository = w.around(w.root)
	}
	return at
}

// hasGit reports whether a folder is the root of a repository, for git: also one that is not read.
func hasGit(folder string) bool {
	_, err := os.Lstat(filepath.Join(folder, ".git"))
	return err == nil
}

func (w *walker) absolute(name string) string { return filepath.FromSlash(path.Join(w.root, name)) }

// readConfig reads a small file. One that does not exist or is not regular is empty.
func readConfig(file string) (string, error) {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() {
		return "", nil
	}
	handle, err := openRegular(file)
	if err != nil {
		return "", err
	}
	defer handle.Close()
	data, err := io.ReadAll(io.LimitReader(handle, longestConfig+1))
	if len(data) > longestConfig {
		data = data[:bytes.LastIndexByte(data[:longestConfig], '\n')+1]
		err = fmt.Errorf("it is larger than %d MB", longestConfig>>20)
	}
	return strings.TrimPrefix(string(data), "\uFEFF"), err
}

func (w *walker) folder(ctx context.Context, at place) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := os.ReadDir(w.absolute(at.name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.unread = append(w.unread, foundFile{path: path.Join(w.root, at.name), reason: reasonOf(err)})
	}
	if isBareRepository(entries) {
		w.skip(at.name, nil, "it is a git repository without a working tree")
		return nil
	}
	isInner := at.name != "" && strings.HasPrefix(path.Base(at.name), ".") ||
		at.container != nil && at.container.kind.whole
	if found := w.containerIn(at.name, entries); found != nil && !isInner {
		at.container = found
		defer func() { w.addContainer(found, at.source) }()
	}
	for _, entry := range entries {
		name := path.Join(at.name, entry.Name())
		if w.isRoot(name, entry.IsDir()) || w.isOwn(name) {
			continue
		}
		isIgnored := ignored(at.chain, name, entry.IsDir())
		isSkipped := isSkippedName(entry.Name()) && !(entry.IsDir() && at.container.hides(w, name)) && !w.includes(name)
		if isIgnored || isSkipped && (entry.IsDir() || !isSecretName(name)) {
			w.countLeftOut(entry)
			continue
		}
		if entry.IsDir() {
			if err := w.folder(ctx, w.enter(at, name)); err != nil {
				return err
			}
			continue
		}
		info, err := entry.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist): // deleted since the folder was listed
		case err != nil:
			w.skip(name, nil, reasonOf(err))
		case at.container.claim(name, info):
		default:
			w.entry(info, name, at)
		}
	}
	return nil
}

// skip adds what is not read.
func (w *walker) skip(name string, info fs.FileInfo, reason string) {
	w.files = append(w.files, foundFile{path: path.Join(w.root, name), name: name, info: info, reason: reason})
}

// isBareRepository reports whether a folder is the inside of a git repository: its files are for git.
func isBareRepository(entries []fs.DirEntry) bool {
	signs := 0
	for _, entry := range entries {
		switch name := entry.Name(); {
		case name == "HEAD" && !entry.IsDir(), (name == "objects" || name == "refs") && entry.IsDir():
			signs++
		}
	}
	return signs == 3
}

// countLeftOut counts a hidden or ignored entry.
func (w *walker) countLeftOut(entry fs.DirEntry) {
	left := &w.leftOut
	counts := map[[2]bool]*int{ // by whether it is a folder, and hidden
		{false, false}: &left.IgnoredFiles, {true, false}: &left.IgnoredFolders,
		{false, true}: &left.HiddenFiles, {true, true}: &left.HiddenFolders,
	}
	*counts[[2]bool{entry.IsDir(), strings.HasPrefix(entry.Name(), ".")}]++
}

// isSkippedName reports whether entries of a name are never added.
func isSkippedName(name string) bool {
	switch name {
	case "node_modules", "CVS", "_darcs":
		return true
	}
	return strings.HasPrefix(name, ".")
}

// isOwn reports whether name, a path from the root, is a file or folder of the library itself, whatever path leads to
// it.
func (w *walker) isOwn(name string) bool {
	for _, own := range w.own {
		if filepath.Base(own) != path.Base(name) {
			continue
		}
		kept, err := os.Stat(own)
		if err != nil {
			continue
		}
		if found, err := os.Lstat(w.absolute(name)); err == nil && os.SameFile(kept, found) {
			return true
		}
	}
	return false
}

// entry adds what is not a folder.
func (w *walker) entry(info fs.FileInfo, name string, at place) {
	if info.Mode()&fs.ModeSymlink == 0 {
		w.addFile(name, info, at)
		return
	}
	if reason := w.linkReason(name); reason != "" {
		w.skip(name, info, reason)
		return
	}
	w.leftOut.Links++
}

// linkReason returns why a link is not followed; "" if its target is read at its own place.
func (w *walker) linkReason(name string) string {
	target, err := filepath.EvalSymlinks(w.absolute(name))
	if err != nil {
		return "it is a broken link"
	}
	root, err := filepath.EvalSymlinks(filepath.FromSlash(w.root))
	if err != nil || !within(filepath.ToSlash(root), filepath.ToSlash(target)) {
		return "it is a link to outside the folder"
	}
	return ""
}

func (w *walker) addFile(name string, info fs.FileInfo, at place) {
	path := path.Join(w.root, name)
	isSecret := isSecretName(withoutCompression(path))
	file := foundFile{path: path, name: name, info: info, source: at.source, repository: at.repository}
	if mode := info.Mode(); mode.IsRegular() {
		if file.format, file.reason = formatOf(withoutCompression(path)); strings.HasSuffix(strings.ToLower(path),
			".zip") {
			if file.format, file.reason = archiveFormat(path); file.format.container != nil && name == "" {
				w.source = file.format.container.source
			}
		} else if name == "" && file.format.mailbox {
			w.source = w.mailboxSource(path)
		}
	} else {
		file.reason = specialReason(mode)
	}
	if isSecret && !w.includes(name) {
		file.reason = wire.SecretName
		w.leftOut.Secret++
	} else if reason := generatedByName(name); reason != "" && !w.includes(name) {
		file.reason = reason
		w.leftOut.Generated++
	} else if _, unsupported := wire.KindNotRead(file.reason); isSecret && unsupported {
		file.format, file.reason = formatOf("") // as the text that it most likely is
	}
	if file.reason == "" && !file.format.several() && !file.format.mailbox && info.Size() > largestFile {
		file.reason = errTooLarge.Error()
	}
	w.files = append(w.files, file)
}

// includes reports whether a file is read although it is hidden or looks like a secret.
func (w *walker) includes(name string) bool {
	return len(w.include) > 0 && includes(w.include, cmp.Or(name, path.Base(w.root)))
}

// mailboxSource returns the source of a file that is a mailbox, or "".
func (w *walker) mailboxSource(file string) string {
	handle, err := openRegular(filepath.FromSlash(file))
	if err != nil {
		return "" // reported when it is read
	}
	defer handle.Close()
	if kind := containerAt(handle); kind != nil {
		return kind.source
	}
	return ""
}

func specialReason(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "it is a pipe, not a file"
	case mode&fs.ModeSocket != 0:
		return "it is a socket, not a file"
	case mode&fs.ModeDevice != 0:
		return "it is a device, not a file"
	}
	return "it is not a regular file"
}

// reasonOf describes the error of a file operation without the path.
func reasonOf(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "no permission to read it"
	case errors.Is(err, fs.ErrNotExist):
		return "it does not exist"
	}
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathError.Err
	}
	return oneLine(err.Error(), longestValue)
}

// hostSource returns what hosts a remote, a URL or git's user@host:path: github, gitlab, bitbucket, or "" if unknown.
func hostSource(remote string) string {
	host, _ := hostAndPath(remote)
	host, _, _ = strings.Cut(host, ":")
	for label := range strings.SplitSeq(host, ".") {
		switch label {
		case "github", "gitlab", "bitbucket":
			return label
		}
	}
	return ""
}

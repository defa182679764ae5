package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"quarry/server/index"
	"quarry/server/ingest/dates"
	"quarry/server/ingest/githistory"
)

// historyTime bounds how long one repository is read, its list of files and its history together. Files whose last
// change is older are dated by the file system.
const historyTime = 5 * time.Second

// datedBy is the metadata key of documents that are dated by the file system where they could have a date of their own.
const datedBy, fileTime = "dated_by", "file time"

// dateByFile notes that a document has the time of its file.
func dateByFile(doc *index.Document) {
	doc.Metadata = addField(doc.Metadata, datedBy, []string{fileTime}, false)
}

// repository is a git repository around files. It is opened, and its history read, when a file needs it.
type repository struct {
	folder  string // absolute, with slashes: its working tree
	opened  func() *githistory.Repository
	history func()
	lost    error // why a part of the history is not read
	clone   *clone
	// published is the repository as its remote has it; nil if that is not known, or clone is nil.
	published func() *githistory.Repository
}

// repositoryOf returns the repository of a folder.
func (r *run) repositoryOf(folder string, at githistory.Checkout) *repository {
	if r.repositories[folder] == nil {
		r.repositories[folder] = newRepository(r.ctx, folder, at)
	}
	return r.repositories[folder]
}

func newRepository(ctx context.Context, folder string, at githistory.Checkout) *repository {
	repo := &repository{folder: folder}
	left := historyTime
	repo.opened = sync.OnceValue(func() *githistory.Repository {
		start := time.Now()
		defer func() { left -= time.Since(start) }()
		ctx, cancel := context.WithTimeout(ctx, left)
		defer cancel()
		opened, err := githistory.Open(ctx, at)
		if err != nil && !errors.Is(err, githistory.ErrEmpty) {
			repo.lost = err
		}
		return opened
	})
	repo.clone = cloneOf(at.Remote())
	repo.published = sync.OnceValue(func() *githistory.Repository {
		if repo.clone == nil || repo.opened() == nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, left)
		defer cancel()
		return githistory.Published(ctx, at, "origin")
	})
	repo.history = sync.OnceFunc(func() {
		opened := repo.opened()
		ctx, cancel := context.WithTimeout(ctx, left)
		defer cancel()
		repo.lost = opened.ReadHistory(ctx)
	})
	return repo
}

// reportHistories reports the repositories whose history was not read to its end: some files have the date of their
// file.
func (r *run) reportHistories() {
	for _, folder := range slices.Sorted(maps.Keys(r.repositories)) {
		if lost := r.repositories[folder].lost; lost != nil {
			if errors.Is(lost, context.DeadlineExceeded) {
				lost = fmt.Errorf("reading it takes longer than %s", historyTime)
			}
			reason := "a part of the git history: " + reasonOf(lost)
			r.leaveOut(folder, badLines{Count: 1, Reasons: []string{reason}})
		}
	}
}

// head returns the newest commit, or "".
func (r *repository) head() string {
	if r == nil || r.opened() == nil {
		return ""
	}
	return r.opened().Head
}

// tip returns the newest commit that the remote is known to have, or "".
func (r *repository) tip() string {
	if r == nil || r.published() == nil {
		return ""
	}
	return r.published().Head
}

// moved reports whether the repository or its remote have other commits than those that date returned.
func (r *repository) moved(since string) bool {
	head, tip, _ := strings.Cut(since, "/")
	return head != "" && head != r.head() || tip != r.tip()
}

// date sets the dates and authors that a document does not have itself to those of its file's history. Where that does
// not know them, it marks a document that byFile says is dated by the file's time. It sets the permalink if the remote
// has the file. It returns the newest commit if that does not contain the file, and behind a slash that of the remote
// if that does not: the file is read again after a later one.
func (r *repository) date(doc *index.Document, file string, data []byte, byFile bool) (head string) {
	if r.head() == "" {
		return ""
	}
	name := below(r.folder, file)
	var known githistory.File
	if r.opened().IsCommitted(name, data) {
		r.history()
		known = r.opened().File(name)
	} else {
		head = r.head()
	}
	if published := r.published(); published != nil && published.IsCommitted(name, data) {
		doc.Permalink = r.clone.permalink(published.Head, name)
	} else if r.clone != nil {
		head += "/" + r.tip()
	}
	updated, isDated := dates.Plausible(known.Updated)
	switch {
	case byFile && isDated:
		doc.UpdatedAt = updated
	case byFile:
		dateByFile(doc)
	}
	if created, ok := dates.Plausible(known.Created); ok && doc.CreatedAt.IsZero() {
		doc.CreatedAt = created
	}
	if len(doc.Authors) == 0 {
		for _, author := range known.Authors {
			doc.Authors = addPerson(doc.Authors, person(author.Name, author.Email))
		}
	}
	return head
}

// mostClones bounds the repositories of a root whose addresses are kept.
const mostClones = 1000

// meet returns the repository of a folder and keeps its address; nil if histories are not needed.
func (w *walker) meet(folder string, at githistory.Checkout) *repository {
	if w.repository == nil {
		return nil
	}
	repo := w.repository(folder, at)
	if repo.clone != nil && len(w.clones) < mostClones {
		w.clones[folder] = repo.clone.base
	}
	return repo
}

// around returns the repository above a folder, on the same disk; nil if there is none. It dates files and says nothing
// about their source: a home folder may be a repository of settings.
func (w *walker) around(folder string) *repository {
	if w.repository == nil {
		return nil
	}
	info, err := os.Stat(filepath.FromSlash(folder))
	if err != nil {
		return nil
	}
	_, _, disk := statIdentity(info)
	for up := path.Dir(folder); up != folder; folder, up = up, path.Dir(up) {
		if info, err = os.Stat(filepath.FromSlash(up)); err != nil {
			return nil
		}
		if _, _, device := statIdentity(info); device != disk {
			return nil
		}
		if at, ok := githistory.Find(filepath.FromSlash(up)); ok {
			return w.meet(up, at)
		}
	}
	return nil
}

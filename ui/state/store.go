package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"quarry/client/wire"
	"quarry/config"
	"quarry/internal/text"
)

const (
	version   = 1
	maxFile   = 16 << 20 // bytes of a state file
	lockRetry = 20 * time.Millisecond
)

// ErrFull is the refusal of a change for which there is no room.
var ErrFull = errors.New("no room left: remove saved searches or collected passages first")

// Store keeps the state of one target, in a file or only in memory. It is safe for concurrent use.
type Store struct {
	path string // "": only in memory
	most int    // bytes of the state; 0: as many as its other bounds allow

	saving  sync.Mutex // held while the file is read and written
	mu      sync.Mutex
	state   State
	pending []func(*State) error // not yet in the file
}

// InMemory returns a store that ends with the process and takes at most the given number of bytes; 0: no other bound
// than those of a state.
func InMemory(most int) *Store { return &Store{most: most} }

// InFolder returns the store of a target, named by what the person calls it or where it is. Nothing is read yet.
func InFolder(folder, target string) *Store {
	return &Store{path: filepath.Join(folder, fileName(target))}
}

// fileName turns a name into that of a file: the readable part of it, and a hash that keeps names apart.
func fileName(target string) string {
	readable := regexp.MustCompile(`[^a-z0-9._-]+`).ReplaceAllString(target, "-")
	if len(readable) > 40 {
		readable = readable[len(readable)-40:]
	}
	return fmt.Sprintf("%s-%08x.json", readable, crc32.ChecksumIEEE([]byte(target)))
}

// State returns the state as it is known now.
func (s *Store) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Load reads the file. If it cannot be used, the error says why and where it was put; the state is then a new one.
func (s *Store) Load() (State, error) {
	if s.path == "" {
		return s.State(), nil
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	stored, err := s.read()
	if err != nil {
		return s.State(), err
	}
	return s.merge(stored), nil
}

// merge takes what was read, with the changes that are not in it yet.
func (s *Store) merge(stored State) State {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, change := range s.pending {
		_ = change(&stored) // it was accepted before; what another process left no room for is dropped
	}
	s.state = stored
	return stored
}

// Change changes the state in memory. Save puts the change into the file.
func (s *Store) Change(change func(*State) error) (State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.state
	if err := change(&changed); err != nil {
		return s.state, err
	}
	for s.most > 0 && changed.size() > s.most {
		if len(changed.Recent) == 0 {
			return s.state, ErrFull
		}
		changed.Recent = changed.Recent[:len(changed.Recent)-1]
	}
	s.state = changed
	if s.path != "" {
		s.pending = append(s.pending, change)
	}
	return changed, nil
}

// Save writes the changes to the file, on top of what other processes wrote meanwhile. It waits for them until ctx
// ends.
func (s *Store) Save(ctx context.Context) error {
	if s.path == "" {
		return nil
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	s.mu.Lock()
	changes := slices.Clone(s.pending)
	s.mu.Unlock()
	if len(changes) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return fmt.Errorf("save the history: %w", err)
	}
	lock := flock.New(s.path+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, lockRetry); err != nil {
		return fmt.Errorf("save the history: another quarry is writing it: %w", err)
	}
	defer lock.Close()
	stored, err := s.read()
	if err != nil {
		return err
	}
	for _, change := range changes {
		_ = change(&stored) // see merge
	}
	if err := s.write(stored); err != nil {
		return fmt.Errorf("save the history in %s: %w", s.path, err)
	}
	s.mu.Lock()
	s.pending = s.pending[len(changes):]
	s.mu.Unlock()
	s.merge(stored)
	return nil
}

func (s *Store) write(state State) error {
	state.Version = version
	encoded, err := json.Marshal(state)
	if err != nil {
		return err
	}
	return config.ReplaceFile(s.path, encoded)
}

// read returns the state of the file. A file that cannot be decoded is put aside, so that nothing overwrites it.
func (s *Store) read() (State, error) {
	encoded, err := readFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, nil
	}
	if err != nil {
		return State{}, fmt.Errorf("read the history: %w", err)
	}
	stored, err := decode(encoded)
	if err == nil {
		return stored, nil
	}
	if errors.Is(err, errNewer) {
		return State{}, fmt.Errorf("read the history in %s: %w", s.path, err)
	}
	aside := s.path + ".damaged"
	if moveErr := os.Rename(s.path, aside); moveErr != nil {
		return State{}, fmt.Errorf("read the history in %s: %w", s.path, errors.Join(err, moveErr))
	}
	return State{}, fmt.Errorf("the history could not be read and was moved to %s: %w", aside, err)
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	encoded, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(encoded) > maxFile {
		err = fmt.Errorf("the file is larger than %d bytes", maxFile)
	}
	return encoded, err
}

// errNewer keeps an older quarry from writing a file without what it does not know.
var errNewer = errors.New("it was written by a newer version of quarry")

// decode reads a state and bounds it.
func decode(encoded []byte) (State, error) {
	var stored State
	if err := wire.Unmarshal(encoded, &stored); err != nil {
		return State{}, err
	}
	if stored.Version > version {
		return State{}, errNewer
	}
	stored.bound()
	return stored, nil
}

// size is about what a state takes in memory, in bytes.
func (s State) size() int {
	const perEntry = 200
	size := 0
	for _, search := range s.Recent {
		size += perEntry + len(search.Query)
	}
	for _, saved := range s.Saved {
		size += perEntry + len(saved.Name) + len(saved.Query)
		for _, ref := range saved.Seen {
			size += 16 + len(ref)
		}
	}
	for _, p := range s.Collection {
		size += perEntry + len(p.Ref) + len(p.DocumentID) + len(p.Title) + len(text.OrEmpty(p.Link)) + len(p.Content) +
			len(p.Query) + len(p.Note)
	}
	return size
}

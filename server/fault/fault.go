// Package fault names what can be wrong with a library, its databases and its engine. Stores and engines return these
// errors wrapped with what was attempted; the API turns each into a status and a hint.
package fault

import "errors"

var (
	// ErrNotFound: the document or chunk does not exist, or the caller may not see it; callers cannot tell which.
	ErrNotFound = errors.New("not found")
	// ErrReadOnly: the library can be searched but not changed.
	ErrReadOnly = errors.New("the library is read-only")
	// ErrBusy: another process held the write lock for too long.
	ErrBusy = errors.New("another process is writing to the library")
	// ErrDiskFull: there is no room for the write; nothing of it was stored.
	ErrDiskFull = errors.New("the disk is full")
	// ErrDamaged: what is stored cannot be read and cannot be rebuilt.
	ErrDamaged = errors.New("the database is damaged")
	// ErrReplaced: the library was removed, and perhaps another one of the same name created, since it was opened.
	ErrReplaced = errors.New("the library was removed")
	// ErrLost: the database is missing or empty, but the index of its documents exists.
	ErrLost = errors.New("the database of the library is missing or empty")
	// ErrNewer: the store was written by a newer version of the program.
	ErrNewer = errors.New("the library was written by a newer version of quarry")
	// ErrOlder: the library has to be brought up to date before it can be read, and may not be written. ErrReadOnly is
	// in the chain, too.
	ErrOlder = errors.New("an older version of quarry wrote it")
	// ErrUnavailable: the database server cannot be reached, or refuses the connection.
	ErrUnavailable = errors.New("the database server is not available")
	// ErrBehind: the index of this process lacks documents that are stored.
	ErrBehind = errors.New("the index of this server is being built")
	// ErrEngineUnavailable: the distributed engine cannot be reached, or refuses the connection.
	ErrEngineUnavailable = errors.New("the search engine is not available")
	// ErrInUse: the target of a copy was changed by others.
	ErrInUse = errors.New("the target is in use")
	// ErrChanging: the documents changed during each of several copies.
	ErrChanging = errors.New("the library changes faster than it is copied")
	// ErrDiffers: the target of a copy does not have, or does not find, what the source does.
	ErrDiffers = errors.New("the copy differs from the library")
	// ErrStopping: the server stops, and has waited for what it was asked.
	ErrStopping = errors.New("the server is stopping")
	// ErrNetworkFileSystem: the folder is on a file system without reliable locks and memory maps.
	ErrNetworkFileSystem = errors.New("the library lies on a network file system")
)

// Repairable is a failure of a server that its administrator can repair. Its text has no password and no key.
type Repairable struct {
	Doing, Reason, Remedy string
	Causes                []error // what it means, and the error itself
}

// Error says what failed, why, and what to do.
func (e *Repairable) Error() string { return e.Doing + ": " + e.Reason + "; " + e.Remedy }

// Unwrap returns what it means, and its cause.
func (e *Repairable) Unwrap() []error { return e.Causes }

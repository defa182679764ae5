package ssh

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/mail"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"quarry/config"
)

// maxKeys bounds the file of keys, in bytes.
const maxKeys = 4 << 20

// owner is the owner of a key: a user by address, or the owner of a token.
type owner struct{ email, token string }

// keys are the keys of an authorized_keys file. It is read again when it changes, so that removed keys stop working.
type keys struct {
	path        string
	knowsPeople bool // otherwise every key needs a token
	log         *slog.Logger
	known       atomic.Pointer[keyFile] // as it was read last
}

// keyFile is what was read of a file of keys. It is not changed afterwards.
type keyFile struct {
	owners map[string]owner // by marshalled key
	as     fs.FileInfo      // of the file when it was read; nil: not read
	failed time.Time        // when it could not be read
}

// openKeys reads a file of keys. At the start, any mistake in it is an error.
func openKeys(path string, knowsPeople bool, log *slog.Logger) (*keys, error) {
	k := &keys{path: path, knowsPeople: knowsPeople, log: log}
	read, problems, err := k.read()
	var known *config.Error
	switch {
	case errors.As(err, &known):
		return nil, known
	case err != nil:
		return nil, startError("cannot read the authorized keys", "check --ssh-keys, or ssh.authorized_keys", err)
	}
	if len(read.owners) == 0 && len(problems) == 0 {
		log.Warn("ssh keys", "problem", path+" has no keys")
	}
	if len(problems) > 0 {
		return nil, problems[0]
	}
	k.known.Store(read)
	return k, nil
}

// owner returns the owner of a key.
func (k *keys) owner(key gossh.PublicKey) (owner, bool) {
	found, ok := k.current().owners[string(key.Marshal())]
	return found, ok
}

// unreadable is the delay before an unreadable file is tried again, so that connections do not fill the log.
const unreadable = time.Second

// current returns the keys of the file as it is now: it reads the file again if it changed. With an unreadable file no
// key is accepted; with a wrong line, not its key. Nobody waits for the disk on behalf of somebody else: who finds a
// change while others read it, reads it too, and the first to end reports what is wrong.
func (k *keys) current() *keyFile {
	known := k.known.Load()
	info, err := os.Stat(k.path)
	same := err == nil && known.as != nil && os.SameFile(info, known.as) && info.Size() == known.as.Size() &&
		info.ModTime().Equal(known.as.ModTime())
	if same || time.Since(known.failed) < unreadable {
		return known
	}
	read, problems, err := k.read()
	if err != nil {
		read = &keyFile{failed: time.Now()}
		problems = append(problems, startError("cannot read the authorized keys; no key is accepted", "", err))
	}
	if !k.known.CompareAndSwap(known, read) {
		return read
	}
	for _, problem := range problems {
		k.log.Warn("ssh keys", "problem", problem.Error())
	}
	return read
}

// read reads the file, and returns the mistakes in its lines.
func (k *keys) read() (_ *keyFile, problems []*config.Error, err error) {
	info, err := os.Stat(k.path)
	if err != nil {
		return nil, nil, err
	}
	text, mode, err := readFile(k.path, maxKeys)
	if err != nil {
		return nil, nil, err
	}
	owners, problems := parseKeys(text, k.path, k.knowsPeople)
	if err := checkKeysMode(k.path, mode, owners); err != nil {
		return nil, nil, err
	}
	return &keyFile{owners: owners, as: info}, problems, nil
}

// checkKeysMode rejects a file that others may write, and one with tokens that others may read.
func checkKeysMode(path string, mode fs.FileMode, owners map[string]owner) error {
	if err := keptFromOthers(path, "can be written", mode, 0o022); err != nil {
		return err
	}
	for _, o := range owners {
		if o.token != "" {
			return keptFromOthers(path, "contains tokens and can be read", mode, 0o077)
		}
	}
	return nil
}

// parseKeys parses an authorized_keys file. Each key has one of the options user="EMAIL" and token="…". Wrong lines are
// returned as problems and skipped: an unknown option could be a restriction.
func parseKeys(text []byte, path string, knowsPeople bool) (owners map[string]owner, problems []*config.Error) {
	owners = map[string]owner{}
	for number, line := range bytes.Split(text, []byte("\n")) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		key, found, err := parseKey(line, knowsPeople)
		if err == nil {
			if _, twice := owners[key]; twice {
				err = errors.New("the key is listed twice")
			}
		}
		if err != nil {
			problems = append(problems, startError(fmt.Sprintf("%s, line %d: %v", path, number+1, err),
				`write each line as user="EMAIL" ssh-ed25519 AAAA…, or with token="onyx_pat_…"`, nil))
			continue
		}
		owners[key] = found
	}
	return owners, problems
}

func parseKey(line []byte, knowsPeople bool) (key string, found owner, err error) {
	parsed, _, options, _, err := gossh.ParseAuthorizedKey(line)
	if err != nil {
		return "", found, errors.New("no key")
	}
	if _, signed := parsed.(*gossh.Certificate); signed {
		return "", found, errors.New("certificates are not supported; use a key")
	}
	for _, option := range options {
		name, value, _ := strings.Cut(option, "=")
		name, value = strings.ToLower(name), strings.Trim(value, `"`)
		if (name == "user" || name == "token") && found != (owner{}) {
			return "", owner{}, errors.New("more than one user or token option")
		}
		switch name {
		case "user":
			found.email, err = personAt(value, knowsPeople)
		case "token":
			found.token, err = usableToken(value)
		case "restrict", "no-agent-forwarding", "no-port-forwarding", "no-user-rc", "no-x11-forwarding":
			// These are never allowed.
		default:
			err = fmt.Errorf("unknown option %s", unlessToken(name))
		}
		if err != nil {
			return "", owner{}, err
		}
	}
	if (found.email == "") == (found.token == "") {
		return "", owner{}, errors.New("a user or token option is required")
	}
	return string(parsed.Marshal()), found, nil
}

func personAt(email string, known bool) (string, error) {
	if !known {
		return "", errors.New("the served server has only tokens: use the option token")
	}
	address, err := mail.ParseAddress(email)
	if err != nil || address.Address != email {
		return "", fmt.Errorf("%s is not an email address", unlessToken(email))
	}
	return email, nil
}

// unlessToken quotes misplaced text, unless it is a token.
func unlessToken(text string) string {
	if strings.Contains(text, "onyx_pat_") || strings.Contains(text, "on_") {
		return "(a token)"
	}
	return fmt.Sprintf("%.100q", text)
}

// usableToken checks that text can be a token.
func usableToken(token string) (string, error) {
	if token == "" {
		return "", errors.New("no token")
	}
	if err := config.CheckToken(token); err != nil {
		return "", fmt.Errorf("the token %w", err)
	}
	return token, nil
}

// maxHostKey bounds the file of a host key, in bytes.
const maxHostKey = 64 << 10

// hostKey reads the host key, or creates one. It identifies the server, so nobody else may read it.
func hostKey(path string) (gossh.Signer, error) {
	text, err := readSecret(path, maxHostKey)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeHostKey(path); err != nil && !errors.Is(err, fs.ErrExist) { // else another process was faster
			return nil, startError("cannot create the host key", "use another file: --ssh-host-key FILE", err)
		}
		text, err = readSecret(path, maxHostKey)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, startError("the host key "+path+" is a broken link",
			"remove it, or use another file: --ssh-host-key FILE", nil)
	}
	if err != nil {
		return nil, err
	}
	signer, err := gossh.ParsePrivateKey(text)
	if err != nil {
		return nil, startError("the host key "+path+" is invalid",
			"use a private key in OpenSSH format without a passphrase, or a missing file, which is created", err)
	}
	return signer, nil
}

// makeHostKey creates a key atomically. An existing file is not changed.
func makeHostKey(path string) (err error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("create the key: %w", err)
	}
	block, err := gossh.MarshalPrivateKey(private, "quarry host key")
	if err != nil {
		return fmt.Errorf("write a key: %w", err)
	}
	file, err := config.WriteTemporary(filepath.Dir(path), pem.EncodeToMemory(block))
	defer os.Remove(file)
	if err != nil {
		return fmt.Errorf("write a key: %w", err)
	}
	if err := os.Link(file, path); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Lstat(path); err == nil { // a broken link
		return fs.ErrExist
	}
	return os.Rename(file, path) // without hard links; two servers rarely start at once
}

// readSecret reads a file that only its owner may read.
func readSecret(path string, most int64) ([]byte, error) {
	text, mode, err := readFile(path, most)
	if err != nil {
		return nil, err
	}
	return text, keptFromOthers(path, "can be read", mode, 0o077)
}

// keptFromOthers returns an error for a file whose mode has one of some bits.
func keptFromOthers(path, how string, mode, bits fs.FileMode) error {
	if mode&bits == 0 || !checksModes() {
		return nil
	}
	return startError(fmt.Sprintf("%s %s by others (mode %04o)", path, how, mode.Perm()), "run: chmod 600 "+path, nil)
}

// readFile reads a regular file of at most most bytes, and returns its mode.
func readFile(path string, most int64) ([]byte, fs.FileMode, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, 0, startError(fmt.Sprintf("%s is not a regular file of at most %d bytes", path, most),
			"check the path", nil)
	}
	text := make([]byte, info.Size())
	if _, err := file.ReadAt(text, 0); err != nil && len(text) > 0 {
		return nil, 0, fmt.Errorf("read %s: %w", path, err)
	}
	return text, info.Mode(), nil
}

// checksModes reports whether file modes show who may read a file.
func checksModes() bool { return runtime.GOOS != "windows" }

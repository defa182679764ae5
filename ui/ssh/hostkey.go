package ssh

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	gossh "golang.org/x/crypto/ssh"
)

// maxHostKey bounds the file of a host key, in bytes.
const maxHostKey = 64 << 10

// hostKey reads the host key, and makes one where there is none. By it people recognise the server, so that nobody else
// may read it.
func hostKey(path string) (gossh.Signer, error) {
	text, err := readSecret(path, maxHostKey)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeHostKey(path); err != nil && !errors.Is(err, fs.ErrExist) { // else another process was faster
			return nil, &Error{Problem: "the host key cannot be made", Fix: "name another place with --ssh-host-key FILE", Err: err}
		}
		text, err = readSecret(path, maxHostKey)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{Problem: "the host key " + path + " leads nowhere", Fix: "remove it, or name another with --ssh-host-key FILE"}
	}
	if err != nil {
		return nil, err
	}
	signer, err := gossh.ParsePrivateKey(text)
	if err != nil {
		return nil, &Error{Problem: "the host key " + path + " cannot be used", Err: err,
			Fix: "give a private key in OpenSSH's format without a passphrase, or name a file that does not exist, to have one made"}
	}
	return signer, nil
}

// makeHostKey writes a new key in one go, so that nobody reads half of one. An existing file is left alone.
func makeHostKey(path string) (err error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	block, err := gossh.MarshalPrivateKey(private, "quarry host key")
	if err != nil {
		return fmt.Errorf("write a key: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder of the key: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".host_key-*") // creates with mode 0600
	if err != nil {
		return fmt.Errorf("write a key: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.Write(pem.EncodeToMemory(block))
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", file.Name(), err)
	}
	if err := os.Link(file.Name(), path); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Lstat(path); err == nil { // a link that leads nowhere
		return fs.ErrExist
	}
	return os.Rename(file.Name(), path) // where there are no hard links, and hardly two that start at once
}

// readSecret reads a file that nobody but its owner may read.
func readSecret(path string, most int64) ([]byte, error) {
	text, mode, err := readFile(path, most)
	if err != nil {
		return nil, err
	}
	if mode.Perm()&0o077 != 0 && checksModes() {
		return nil, &Error{Problem: fmt.Sprintf("%s can be read by others (mode %04o)", path, mode.Perm()),
			Fix: "run: chmod 600 " + path}
	}
	return text, nil
}

// readFile reads a file of at most so many bytes, and tells its mode.
func readFile(path string, most int64) ([]byte, fs.FileMode, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, 0, &Error{Problem: fmt.Sprintf("%s is no file of at most %d bytes", path, most), Fix: "check the path"}
	}
	text := make([]byte, info.Size())
	if _, err := file.ReadAt(text, 0); err != nil && len(text) > 0 {
		return nil, 0, fmt.Errorf("read %s: %w", path, err)
	}
	return text, info.Mode(), nil
}

// checksModes tells that the modes of files say who may read them.
func checksModes() bool { return runtime.GOOS != "windows" }

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

// hostKey reads the host key, or creates one. It identifies the server, so nobody else may read it.
func hostKey(path string) (gossh.Signer, error) {
	text, err := readSecret(path, maxHostKey)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeHostKey(path); err != nil && !errors.Is(err, fs.ErrExist) { // else another process was faster
			return nil, &Error{Problem: "cannot create the host key", Fix: "use another file: --ssh-host-key FILE", Err: err}
		}
		text, err = readSecret(path, maxHostKey)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{Problem: "the host key " + path + " is a broken link", Fix: "remove it, or use another file: --ssh-host-key FILE"}
	}
	if err != nil {
		return nil, err
	}
	signer, err := gossh.ParsePrivateKey(text)
	if err != nil {
		return nil, &Error{Problem: "the host key " + path + " is invalid", Err: err,
			Fix: "use a private key in OpenSSH format without a passphrase, or a missing file, which is created"}
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
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("create the folder of the key: %w", err)
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
	if _, err := os.Lstat(path); err == nil { // a broken link
		return fs.ErrExist
	}
	return os.Rename(file.Name(), path) // without hard links; two servers rarely start at once
}

// readSecret reads a file that only its owner may read.
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

// readFile reads a regular file of at most most bytes, and returns its mode.
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
		return nil, 0, &Error{Problem: fmt.Sprintf("%s is not a regular file of at most %d bytes", path, most), Fix: "check the path"}
	}
	text := make([]byte, info.Size())
	if _, err := file.ReadAt(text, 0); err != nil && len(text) > 0 {
		return nil, 0, fmt.Errorf("read %s: %w", path, err)
	}
	return text, info.Mode(), nil
}

// checksModes reports whether file modes show who may read a file.
func checksModes() bool { return runtime.GOOS != "windows" }

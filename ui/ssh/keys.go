package ssh

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/mail"
	"os"
	"strings"
	"sync"
	"time"

	gossh "golang.org/x/crypto/ssh"
)

// maxKeys bounds the file of keys, in bytes.
const maxKeys = 4 << 20

// owner is whose a key is: a person by address, or whoever a token belongs to.
type owner struct{ email, token string }

// keys are those of an authorized_keys file. It is read anew when it changes, so that a key that is taken out of it
// opens nothing any more.
type keys struct {
	path        string
	knowsPeople bool // else every key needs a token
	log         *slog.Logger

	mutex  sync.Mutex
	owners map[string]owner // by the key as it is sent
	as     fs.FileInfo      // the file was, when it was read; nil: it could not be
	failed time.Time        // it could not be read
}

// openKeys reads a file of keys. At the start anything that is wrong with it is an error.
func openKeys(path string, knowsPeople bool, log *slog.Logger) (*keys, error) {
	k := &keys{path: path, knowsPeople: knowsPeople, log: log}
	problems, err := k.read()
	var told *Error
	if errors.As(err, &told) {
		return nil, told
	}
	if err != nil {
		return nil, &Error{Problem: "the keys of visitors cannot be read", Err: err, Fix: "check --ssh-keys, or ssh.authorized_keys"}
	}
	if len(k.owners) == 0 && len(problems) == 0 {
		log.Warn("ssh keys", "problem", path+" holds no key yet")
	}
	if len(problems) > 0 {
		return nil, problems[0]
	}
	return k, nil
}

// owner finds whose a key is.
func (k *keys) owner(key gossh.PublicKey) (owner, bool) {
	k.refresh()
	k.mutex.Lock()
	defer k.mutex.Unlock()
	found, ok := k.owners[string(key.Marshal())]
	return found, ok
}

// unreadable is how long a file that cannot be read is not tried again: whoever knocks must not fill the log.
const unreadable = time.Second

// refresh reads the file anew if it was changed. A file that cannot be read lets nobody in; a line that is wrong, not
// whom it is about.
func (k *keys) refresh() {
	info, err := os.Stat(k.path)
	k.mutex.Lock()
	same := err == nil && k.as != nil && os.SameFile(info, k.as) && info.Size() == k.as.Size() &&
		info.ModTime().Equal(k.as.ModTime())
	wait := time.Since(k.failed) < unreadable
	k.mutex.Unlock()
	if same || wait {
		return
	}
	problems, err := k.read()
	if err != nil {
		k.mutex.Lock()
		k.owners, k.as, k.failed = nil, nil, time.Now()
		k.mutex.Unlock()
		problems = append(problems, &Error{Problem: "the keys of visitors cannot be read, so that none is let in", Err: err})
	}
	for _, problem := range problems {
		k.log.Warn("ssh keys", "problem", problem.Error())
	}
}

// read reads the file, and tells what is wrong with single lines of it.
func (k *keys) read() (problems []*Error, err error) {
	info, err := os.Stat(k.path)
	if err != nil {
		return nil, err
	}
	text, mode, err := readFile(k.path, maxKeys)
	if err != nil {
		return nil, err
	}
	owners, problems := parseKeys(text, k.path, k.knowsPeople)
	if checksModes() {
		if err := checkKeysMode(k.path, mode, owners); err != nil {
			return nil, err
		}
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.owners, k.as, k.failed = owners, info, time.Time{}
	return problems, nil
}

// checkKeysMode refuses a file that others may write, and one with tokens that others may read.
func checkKeysMode(path string, mode fs.FileMode, owners map[string]owner) error {
	if mode.Perm()&0o022 != 0 {
		return &Error{Problem: fmt.Sprintf("%s can be written by others (mode %04o)", path, mode.Perm()), Fix: "run: chmod 600 " + path}
	}
	for _, o := range owners {
		if o.token != "" && mode.Perm()&0o077 != 0 {
			return &Error{Problem: fmt.Sprintf("%s holds tokens and can be read by others (mode %04o)", path, mode.Perm()),
				Fix: "run: chmod 600 " + path}
		}
	}
	return nil
}

// parseKeys reads the lines of an authorized_keys file. Each key has one of the options user="EMAIL" and token="…". A line
// that is wrong is told and left out: an option that is not known could restrict what the key may do.
func parseKeys(text []byte, path string, knowsPeople bool) (owners map[string]owner, problems []*Error) {
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
			problems = append(problems, &Error{Problem: fmt.Sprintf("%s, line %d: %v", path, number+1, err),
				Fix: `write each line as user="EMAIL" ssh-ed25519 AAAA…, or with token="onyx_pat_…"`})
			continue
		}
		owners[key] = found
	}
	return owners, problems
}

func parseKey(line []byte, knowsPeople bool) (key string, found owner, err error) {
	parsed, _, options, _, err := gossh.ParseAuthorizedKey(line)
	if err != nil {
		return "", found, errors.New("there is no key")
	}
	if _, signed := parsed.(*gossh.Certificate); signed {
		return "", found, errors.New("certificates are not used: give the key itself")
	}
	for _, option := range options {
		name, value, _ := strings.Cut(option, "=")
		name, value = strings.ToLower(name), strings.Trim(value, `"`)
		if (name == "user" || name == "token") && found != (owner{}) {
			return "", owner{}, errors.New("it says twice whose the key is")
		}
		switch name {
		case "user":
			found.email, err = personAt(value, knowsPeople)
		case "token":
			found.token, err = usableToken(value)
		case "restrict", "no-agent-forwarding", "no-port-forwarding", "no-user-rc", "no-x11-forwarding":
			// Nothing of that is ever allowed.
		default:
			err = fmt.Errorf("the option %s is not known", unlessToken(name))
		}
		if err != nil {
			return "", owner{}, err
		}
	}
	if (found.email == "") == (found.token == "") {
		return "", owner{}, errors.New("it must say either whose the key is, with user, or which token it stands for, with token")
	}
	return string(parsed.Marshal()), found, nil
}

func personAt(email string, known bool) (string, error) {
	if !known {
		return "", errors.New("what is searched knows no people, only tokens: give the key a token")
	}
	address, err := mail.ParseAddress(email)
	if err != nil || address.Address != email {
		return "", fmt.Errorf("%s is not an email address", unlessToken(email))
	}
	return email, nil
}

// unlessToken quotes what stands in the wrong place, but not if it is a token.
func unlessToken(text string) string {
	if strings.Contains(text, "onyx_pat_") || strings.Contains(text, "on_") {
		return "a token in its place"
	}
	return fmt.Sprintf("%.100q", text)
}

// usableToken checks that a text can be a token.
func usableToken(token string) (string, error) {
	const longest = 4096
	if token == "" || len(token) > longest {
		return "", errors.New("there is no token")
	}
	for _, c := range []byte(token) {
		if c <= ' ' || c > '~' {
			return "", errors.New("the token holds characters that no token has")
		}
	}
	return token, nil
}

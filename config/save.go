package config

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"

	"go.yaml.in/yaml/v3"

	"quarry/client/wire"
)

// TokenPlace says where a token is kept.
type TokenPlace string

// The places of a token. The zero value is the keyring where there is one, else the file.
const (
	TokenInFile    TokenPlace = "file"
	TokenInKeyring TokenPlace = "keyring"
)

// NewProfile is a profile to be saved.
type NewProfile struct {
	// Profile is what to save. Its Token is ignored, so that a token from the environment or another file is never
	// written by accident.
	Profile Profile
	// Typed is the token that the user typed; without one, the file's token is kept.
	Typed    Secret
	Place    TokenPlace // of Typed
	Activate bool       // make it the active profile
}

// Saved describes what was saved.
type Saved struct {
	File  string
	Token TokenPlace // "" without a token
}

// Describe returns where a profile and its token were saved.
func (s Saved) Describe() string {
	if s.Token == TokenInKeyring {
		return s.File + ", with the token in the system keyring"
	}
	return s.File + ", with the token in the file because no system keyring is available; only you can read it"
}

// SaveProfile adds or changes a profile, keeping the rest of the file with its comments. Values of an existing profile
// that the request leaves out are kept, unless the server changes: then all old values are removed, including the
// token. The file is replaced atomically. An invalid file is not changed and is an error.
func (c *Config) SaveProfile(ctx context.Context, request NewProfile, ring Keyring) (Saved, error) {
	p := request.Profile
	if err := c.checkNew(request); err != nil {
		return Saved{}, err
	}
	t, err := c.open()
	if err != nil {
		return Saved{}, err
	}
	place, err := storeToken(ctx, request, ring)
	if err != nil {
		return Saved{}, err
	}
	fill(section(section(t.root, "profiles"), p.Name), request, place)
	if request.Activate {
		set(t.root, "active", p.Name)
	}
	return Saved{File: c.File, Token: place}, c.write(t)
}

// NewModel is a language model to be saved as the default.
type NewModel struct {
	Provider string // its name
	BaseURL  string
	Model    string
	Key      Secret // that the user typed; without one, the file's key of the same server is kept
}

// SaveModel adds or changes a provider and makes one of its models the default, keeping the rest of the file with its
// comments. A key is written to the file, which only its owner can read.
func (c *Config) SaveModel(m NewModel) error {
	bad := func(err error, fix string) error {
		return &Error{Key: "llm.providers." + clip(m.Provider), Problem: err.Error(), Fix: fix, Exit: ExitUsage}
	}
	if err := CheckName(m.Provider); err != nil {
		return bad(err, "choose another name for the provider")
	}
	if err := CheckToken(m.Key.Reveal()); err != nil {
		return bad(fmt.Errorf("the key %w", err), "paste the key alone")
	}
	if m.Model == "" {
		return bad(errors.New("names no model"), "give the name of a model")
	}
	t, err := c.open()
	if err != nil {
		return err
	}
	llm := section(t.root, "llm")
	provider := section(section(llm, "providers"), m.Provider)
	if !sameServer(child(provider, "base_url"), m.BaseURL) {
		remove(provider, "key")
		remove(provider, "models")
	}
	set(provider, "base_url", m.BaseURL)
	if !m.Key.IsZero() {
		set(provider, "key", m.Key.Reveal())
	}
	addModel(provider, m.Model)
	set(llm, "default", m.Provider+"/"+m.Model)
	return c.write(t)
}

// addModel adds a model to the list of a provider, unless it is there.
func addModel(provider *yaml.Node, model string) {
	node := child(provider, "models")
	switch {
	case node == nil || isNull(node):
		node = section(provider, "models")
		*node = yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle, LineComment: node.LineComment}
	case node.Kind == yaml.ScalarNode: // one text is a list of one
		only := *node
		only.LineComment = ""
		*node = yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle, Content: []*yaml.Node{&only},
			LineComment: node.LineComment}
	}
	for _, item := range node.Content {
		if item.Value == model {
			return
		}
	}
	item := &yaml.Node{}
	item.SetString(model)
	node.Content = append(node.Content, item)
}

func (c *Config) checkNew(request NewProfile) error {
	p := request.Profile
	bad := func(err error, fix string) error {
		return &Error{Key: "profile " + clip(p.Name), Problem: err.Error(), Fix: fix, Exit: ExitUsage}
	}
	if err := CheckName(p.Name); err != nil {
		return bad(err, "choose another name for the profile")
	}
	if err := spell(&p.ServerURL, wire.ServerURL); err != nil {
		return bad(fmt.Errorf("server_url %w", err), "use an address such as https://onyx.example.com")
	}
	if err := CheckToken(request.Typed.Reveal()); err != nil {
		return bad(fmt.Errorf("the token %w", err), "paste the token alone")
	}
	p.Token = request.Typed
	if err := p.check(); err != nil { // which says what to change
		return bad(err, "")
	}
	return nil
}

// storeToken stores a typed token in the keyring, if it can, and returns its place. A failure is an error only if the
// request requires the keyring.
func storeToken(ctx context.Context, request NewProfile, ring Keyring) (TokenPlace, error) {
	if request.Typed.IsZero() {
		return "", nil
	}
	if request.Place == TokenInFile {
		return TokenInFile, nil
	}
	account, err := KeyringAccount(request.Profile)
	if err == nil && ring == nil {
		err = ErrNoKeyring
	}
	if err == nil {
		err = ring.Set(ctx, account, request.Typed.Reveal())
	}
	switch {
	case err == nil:
		return TokenInKeyring, nil
	case request.Place == TokenInKeyring || ctx.Err() != nil:
		return "", fmt.Errorf("store the token of profile %s in the system keyring: %w", request.Profile.Name, err)
	}
	return TokenInFile, nil
}

// open reads the file again: another process may have changed it since Load.
func (c *Config) open() (*tree, error) {
	if err := c.refuseReadOnly("profiles"); err != nil {
		return nil, err
	}
	content, _, err := readFile(c.File)
	if err != nil {
		return nil, err
	}
	t, err := c.verify(content.bytes)
	if err != nil || t.root != nil {
		return t, err
	}
	if t.document.Kind == 0 {
		t.comments = content.bytes
	}
	t.root = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	t.document = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{t.root}, HeadComment: t.document.HeadComment,
		FootComment: t.document.FootComment}
	return t, nil
}

// verify checks that a text would load.
func (c *Config) verify(data []byte) (*tree, error) {
	t, err := parseTree(c.File, data)
	if err != nil {
		return nil, err
	}
	l := &loader{config: &Config{File: c.File}, tree: t, home: homeOf(os.LookupEnv)}
	return t, l.load(nil)
}

// fill writes the keys of a profile as SaveProfile describes.
func fill(entry *yaml.Node, request NewProfile, token TokenPlace) {
	p := request.Profile
	keys := pathsOf(keysOf(reflect.TypeFor[Profile](), ""))
	if !sameServer(child(entry, "server_url"), p.ServerURL) || !sameKind(child(entry, "kind"), p.Kind) {
		for _, key := range keys {
			if key != "server_url" {
				remove(entry, key)
			}
		}
	}
	if token != "" || p.TokenCommand != "" {
		remove(entry, "token")
		remove(entry, "token_command")
	}
	given := map[string]string{"kind": p.Kind, "server_url": p.ServerURL, "token_command": p.TokenCommand,
		"agent": p.Agent.String(), "library": p.Library}
	if token == TokenInFile {
		given["token"] = request.Typed.Reveal()
	}
	for _, key := range keys {
		switch {
		case key == "api_prefix" && p.APIPrefix != nil:
			set(entry, key, *p.APIPrefix)
		case given[key] != "":
			set(entry, key, given[key])
		case key == "server_url":
			remove(entry, key)
		}
	}
	if len(p.SearchAlso) > 0 {
		list := section(entry, "search_also")
		_ = list.Encode(p.SearchAlso) // which cannot fail for texts
		list.Style = yaml.FlowStyle
	}
}

// sameKind treats a missing kind as KindOnyx.
func sameKind(node *yaml.Node, kind string) bool {
	old := ""
	if node != nil && !isNull(node) {
		old = node.Value
	}
	return cmp.Or(old, KindOnyx) == cmp.Or(kind, KindOnyx)
}

func sameServer(node *yaml.Node, address string) bool {
	return node == nil && address == "" || node != nil && wire.SameOrigin(node.Value, address)
}

// section returns the mapping under a key, creating it if necessary.
func section(mapping *yaml.Node, key string) *yaml.Node {
	node := child(mapping, key)
	if node == nil {
		node = &yaml.Node{}
		name := &yaml.Node{}
		name.SetString(key)
		mapping.Content = append(mapping.Content, name, node)
	}
	if node.Kind != yaml.MappingNode {
		*node = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", HeadComment: node.HeadComment,
			LineComment: node.LineComment}
	}
	if len(node.Content) == 0 {
		node.Style = 0
	}
	return node
}

func set(mapping *yaml.Node, key, value string) {
	node := child(mapping, key)
	if node != nil && node.Kind == yaml.ScalarNode && node.Value == value && !isNull(node) {
		return
	}
	if node == nil {
		node = section(mapping, key)
	}
	comment := node.LineComment
	*node = yaml.Node{}
	node.SetString(value)
	node.LineComment = comment
}

func remove(mapping *yaml.Node, key string) {
	if i := indexOf(mapping, key); i >= 0 {
		mapping.Content = append(mapping.Content[:i:i], mapping.Content[i+2:]...)
	}
}

// encode returns the file's new text.
func (t *tree) encode() ([]byte, error) {
	text := bytes.NewBuffer(t.comments)
	if len(t.comments) > 0 && !bytes.HasSuffix(t.comments, []byte("\n")) {
		text.WriteByte('\n')
	}
	encoder := yaml.NewEncoder(text)
	encoder.SetIndent(2)
	err := errors.Join(encoder.Encode(&t.document), encoder.Close())
	return text.Bytes(), err
}

func (c *Config) write(t *tree) error {
	text, err := t.encode()
	if err != nil {
		return fmt.Errorf("write %s: %w", c.File, err)
	}
	// An invalid text must not replace a valid file.
	if _, err := c.verify(text); err != nil {
		return fmt.Errorf("the change would make the configuration invalid: %w", err)
	}
	return c.replace(text)
}

func (c *Config) refuseReadOnly(what string) error {
	if !c.readOnly {
		return nil
	}
	return &Error{File: c.File, Problem: "not changed", Err: ErrReadOnly,
		Fix: "unset QUARRY_READONLY to change " + what, Exit: ExitNotAvailable}
}

// replace makes a valid text the file.
func (c *Config) replace(text []byte) error {
	err := ReplaceFile(c.File, text)
	if err == nil {
		return nil
	}
	return &Error{File: c.File, Problem: "cannot be saved", Err: UnwrapPath(err),
		Fix: "check the permissions of the folder", Exit: ExitGeneral}
}

// ReplaceFile replaces a file atomically. If path is a symbolic link, its target is replaced.
func ReplaceFile(path string, data []byte) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	folder := filepath.Dir(path)
	temporary, err := WriteTemporary(folder, data)
	defer os.Remove(temporary) // unless it was renamed
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return err
	}
	return syncFolder(folder)
}

// WriteTemporary writes a new file in a folder, which it creates, for its owner only, and returns its path. After an
// error the file may exist.
func WriteTemporary(folder string, data []byte) (path string, err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	file, err := os.CreateTemp(folder, ".quarry-*.tmp") // made with mode 0600
	if err != nil {
		return "", err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	return file.Name(), errors.Join(err, file.Close())
}

// syncFolder makes a rename durable; Windows has no such call and needs none.
func syncFolder(folder string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	handle, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer handle.Close()
	return handle.Sync()
}

package ingest

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
)

// No text of these is a secret of anybody: the tokens are drawn at random.
const (
	someToken  = "ghp_q7Rt2LmX9vBn4KsZ8wYc1JdF6hGp3TaUeVb0"
	otherToken = "glpat-q7Rt2LmX9vBn4KsZ8wYc"
)

func privateKey(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
}

func TestSecretNames(t *testing.T) {
	for _, name := range []string{"id_rsa", "id_ed25519", "x/id_ecdsa_work", "ID_RSA.bak", "server.pem", "tls.KEY", "a.p12", "a.pfx", "a.kdbx", "a.keystore",
		"a.jks", ".env", ".env.local", ".envrc", "prod.env", ".netrc", "_netrc", ".npmrc", ".pgpass", ".git-credentials", "credentials", "x.tfstate",
		"x.tfstate.backup", ".bash_history", ".zsh_history", ".psql_history", "fish_history", "client_secret_12.json", "kubeconfig", "putty.ppk",
		"id_rsa.txt", "work_ed25519", "ssh_host_rsa_key", "netrc", ".docker/config.json", "home/.Kube/config", "gh/hosts.yml", "secrets.yaml",
		"credentials.xml", "accessTokens.json", "acme-firebase-adminsdk-1a2b.json", "credentials.tfrc.json", "bash_history", "wp-config.php", "etc/shadow",
		"passwords.txt", ".netrc.bak", "server.key.old", ".viminfo", ".m2/settings.xml"} {
		if !isSecretName(name) {
			t.Errorf("%s is read", name)
		}
	}
	for _, name := range []string{"id_rsa.pub", ".env.example", ".env.sample", "id_generation.go", "credentials.md", "credentials.go", "release_history.md", "history",
		"keys.md", "environment.md", "key", "pem", "identity", "tokens.txt", "a/credentials/readme.md", "secret.go",
		"id_rsa.md", "id_cards.csv", "config.json", "settings.xml", "kube/config", "hosts.yml", "purchase_history", "secrets.md", "shadow", "test_rsa.go"} {
		if isSecretName(name) {
			t.Errorf("%s is left out", name)
		}
	}
}

func TestSecretTexts(t *testing.T) {
	key := privateKey(t)
	quoted, err := json.Marshal(map[string]string{"private_key": key})
	must(t, err)
	indented := "tls:\n    " + strings.ReplaceAll(key, "\n", "\n    ")
	for text, want := range map[string]error{
		key: errSecretKey, "# Setup\n\nUse this one:\n\n" + key: errSecretKey, string(quoted): errSecretKey, indented: errSecretKey,
		strings.ReplaceAll(key, "\n", "\r\n"):                                                              errSecretKey,
		strings.ReplaceAll(key, "\n", "\n\n"):                                                              errSecretKey,
		"client-key-data: " + base64.StdEncoding.EncodeToString([]byte(key)):                               errSecretKey,
		"PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\n" + strings.Repeat("AAAAB3NzaC1yc2E", 9) + "\n": errSecretKey,
		someToken: errSecretToken, "\n  " + otherToken + "\n": errSecretToken, "notes\n" + someToken + "\nmore": errSecretToken,
		"token: " + someToken: errSecretToken, "export GITHUB_TOKEN='" + someToken + "'": errSecretToken, `  "key": "` + otherToken + `",`: errSecretToken,
		"AKIAQ5TZ2WLK7VXN3RBD": errSecretToken, strings.ReplaceAll(someToken, "_", `\_`): errSecretToken,
		"eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4IiwiaWF0IjoxNTE2MjM5MDIyfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r": errSecretToken,

		"": nil,
		"-----BEGIN CERTIFICATE-----\n" + strings.Repeat("MIIBhTCCASugAwIBAgIQIRi6zePL6mKjOipn", 9):                       nil,
		"A key begins with -----BEGIN RSA PRIVATE KEY----- and ends with -----END RSA PRIVATE KEY-----.":                  nil,
		"-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA...\n-----END RSA PRIVATE KEY-----\n" + strings.Repeat("x", 99): nil,
		"AKIAIOSFODNN7EXAMPLE\n\nis no key.": nil, "Tokens:\nghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n": nil, "See\nglpat-1234567890abcdefghij\n": nil,
		"They look like `" + someToken + "` and never expire.": nil, "sk-learn-contrib-is-a-set-of-packages-for-learning": nil,
		"A token:\neyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4IiwiaWF0IjoxNTE2MjM5MDIyfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r": nil,
		strings.Repeat("LS0tLS1CRUdJTi", 99): nil, strings.Repeat("-----BEGIN PRIVATE KEY-----", 99): nil,
	} {
		if got := secretIn(text, false, true); got != want {
			t.Errorf("%.90q: %v, want %v", text, got, want)
		}
	}
	if err := secretIn("export GITHUB_TOKEN="+someToken, true, true); err != nil {
		t.Error("a page that shows a command:", err)
	}
}

// TestSecretsAreLeftOut: what is a secret is not stored, counted, named, and leaves a library to which it was added before.
func TestSecretsAreLeftOut(t *testing.T) {
	key := privateKey(t)
	l := newLibrary(t, map[string]string{"a.md": "# Keys\n\nA key begins with -----BEGIN PRIVATE KEY-----.", "id_rsa": key, "sub/.env": "PASSWORD=x",
		"sub/.hidden": "x", "notes.txt": "old\n", "token.txt": someToken, "config.yml": "a: 1\ntoken: " + otherToken + "\n", "x.skip": "", ".gitignore": "*.skip"})
	secret := map[string]string{"id_rsa": wire.SecretName, "sub/.env": wire.SecretName, "token.txt": wire.SecretToken, "config.yml": wire.SecretToken}
	check := func(what string, done wire.LibraryEvent, secret map[string]string) {
		t.Helper()
		want := map[string]string{}
		for name, reason := range secret {
			want[l.path(name)] = reason
		}
		status, err := Status(t.Context(), l.idx)
		must(t, err)
		if got := l.events.skipped(); !maps.Equal(got, want) || done.LeftOut.Secret != len(want) || status.LeftOut.Secret != len(want) ||
			done.Skipped != 0 || status.SkippedFiles != 0 {
			t.Errorf("%s: named %v; counted %+v, in the status %+v; want %v", what, got, done, status, want)
		}
	}
	check("add", l.add(Options{}, "."), secret)
	l.want("a.md", "notes.txt")
	check("sync", l.sync(), secret)

	l.write("notes.txt", "new\n"+key)
	secret["notes.txt"] = wire.SecretKey
	done := l.sync()
	check("after a change", done, secret)
	l.counts(done, 0, 0, 1, 1)
	l.want("a.md")

	included := Options{Include: []string{"id_*", "sub/.env", "*.yml", "/notes.txt"}}
	delete(secret, "id_rsa")
	delete(secret, "sub/.env")
	delete(secret, "config.yml")
	delete(secret, "notes.txt")
	check("include", l.add(included, "."), secret)
	l.want("a.md", "config.yml", "id_rsa", "notes.txt", "sub/.env")
	check("sync of included", l.sync(), secret)
	l.want("a.md", "config.yml", "id_rsa", "notes.txt", "sub/.env")
}

// TestSecretsLeaveAnOlderLibrary: what an earlier version stored is removed by the next sync.
func TestSecretsLeaveAnOlderLibrary(t *testing.T) {
	l := newLibrary(t, map[string]string{"a.md": "# A", "id_rsa": privateKey(t), "token.txt": someToken})
	l.add(Options{Include: []string{"*"}}, ".")
	l.want("a.md", "id_rsa", "token.txt")
	for key, value := range l.idx.cursors { // as if it had been stored without the pattern
		l.idx.cursors[key] = strings.ReplaceAll(value, `"include":["*"],`, "")
	}
	l.counts(l.sync(), 0, 0, 2, 1)
	l.want("a.md")
}

// TestSecretsInFields: fields beside the text are shown, too.
func TestSecretsInFields(t *testing.T) {
	const line = "---\n%\n---\n# Page\n\ntext\n"
	files := map[string]string{"fine.md": strings.ReplaceAll(line, "%", "token_form: ghp_ and 36 characters\nowner: jo")}
	secret := map[string]string{}
	for name, field := range map[string]string{"value": "api_token: " + someToken, "list": "tags: [a, " + otherToken + "]", "nested": "deploy: {key: " + someToken + "}",
		"author": "author: " + someToken, "date": "updated: " + someToken, "title": "title: " + someToken,
		"key": "key: |\n  " + strings.ReplaceAll(privateKey(t), "\n", "\n  ")} {
		files[name+".md"], secret[name+".md"] = strings.ReplaceAll(line, "%", field), wire.SecretToken
		if text, err := TextOf(t.Context(), nil, "a.md", []byte(files[name+".md"])); err == nil {
			t.Errorf("uploaded with %s: %q", name, text)
		}
	}
	secret["key.md"] = wire.SecretKey
	files["posted.jsonl"] = `{"id":"1","sections":[{"text":"fine"}],"metadata":{"key":"` + someToken + `"}}`
	l := newLibrary(t, files)
	if done := l.add(Options{}, "."); done.LeftOut.Secret != len(secret)+1 {
		t.Errorf("left out %d, want %d", done.LeftOut.Secret, len(secret)+1)
	}
	skipped := l.events.skipped()
	for name, reason := range secret {
		if skipped[l.path(name)] != reason {
			t.Errorf("%s: %q", name, skipped[l.path(name)])
		}
	}
	l.want("fine.md")
}

// TestRenamedSecrets: what one name includes is not read under another.
func TestRenamedSecrets(t *testing.T) {
	l := newLibrary(t, map[string]string{"a.md": "# A", "deploy.md": "# Deploy\n\n" + privateKey(t), "token.md": "# Keys\n\n" + someToken})
	l.add(Options{Include: []string{"deploy.md", "token.md"}}, ".")
	l.want("a.md", "deploy.md", "token.md")
	must(t, l.rename("deploy.md", "notes.md"))
	must(t, l.rename("token.md", "keys.md"))
	l.counts(l.sync(), 0, 0, 2, 1)
	l.want("a.md")
	if want := map[string]string{l.path("notes.md"): wire.SecretKey, l.path("keys.md"): wire.SecretToken}; !maps.Equal(l.events.skipped(), want) {
		t.Errorf("named %v", l.events.skipped())
	}
}

func TestSecretsWithinFiles(t *testing.T) {
	key := privateKey(t)
	attached := "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nsee attached\n--b\nContent-Disposition: attachment; filename=%\n\n" +
		"the text of it " + "\n--b\nContent-Disposition: attachment; filename=key.txt\n\n" + key + "\n--b--\n"
	archive := smallTakeout()
	archive["Drive/id_rsa"], archive["Drive/key.txt"], archive["Drive/fine.txt"] = "x", key, "all is well"
	slack := `[{"type":"message","user":"U1","ts":"1709280000.000100","text":"our key\n` + strings.ReplaceAll(key, "\n", `\n`) + `"},` +
		`{"type":"message","user":"U1","ts":"1709280001.000100","text":"please delete"}]`
	l := newLibrary(t, map[string]string{
		"mail.eml":                   "Subject: Key\nFrom: ana@acme.com\n" + strings.ReplaceAll(attached, "%", "id_rsa"),
		"box.mbox":                   mboxOf("Subject: One\nMessage-ID: <a@x>\nFrom: ana@acme.com\n\nhello\n", "Subject: Re: One\nIn-Reply-To: <a@x>\nMessage-ID: <b@x>\nFrom: jo@acme.com\n\n"+key),
		"some.jsonl":                 `{"id":"1","sections":[{"text":"fine"}]}` + "\n" + `{"id":"2","sections":[{"text":"` + someToken + `"}]}` + "\n",
		"export/users.json":          `[{"id":"U1","name":"ana"}]`,
		"export/channels.json":       `[{"id":"C1","name":"ops","members":["U1"]}]`,
		"export/ops/2024-03-01.json": slack,
	})
	l.write("takeout.zip", zipped(t, inFolder("Takeout", archive)))
	done := l.add(Options{}, ".")
	for id, doc := range l.idx.documents {
		for _, chunk := range doc.Chunks {
			if strings.Contains(chunk.Text, "PRIVATE KEY") || strings.Contains(chunk.Text, someToken) || strings.Contains(chunk.Text, "the text of it") {
				t.Errorf("%s holds a secret: %.90q", id, chunk.Text)
			}
		}
	}
	text := func(id string) string { return l.textOf(id) }
	if !strings.Contains(text("mail.eml"), "see attached") || !strings.Contains(text("takeout.zip!Drive/fine.txt"), "all is well") ||
		!strings.Contains(text("box.mbox!a@x"), "hello") {
		t.Error("what is no secret is missing")
	}
	var reasons []string
	for _, event := range l.events.all {
		if wire.IsSecret(event.Reason) {
			reasons = append(reasons, event.Reason)
		}
	}
	slices.Sort(reasons)
	want := []string{"#ops · 2024-03-01: " + wire.SecretKey, "Drive/id_rsa: " + wire.SecretName, "Drive/key.txt: " + wire.SecretKey, "One: " + wire.SecretKey,
		"id_rsa: " + wire.SecretName, "key.txt: " + wire.SecretKey, "line 2: " + wire.SecretToken}
	if !slices.Equal(reasons, want) {
		t.Errorf("named %q, want %q", reasons, want)
	}
	if again := l.sync(); done.LeftOut.Secret != len(want) || again.LeftOut.Secret != len(want) {
		t.Errorf("counted %d, then %d, want %d", done.LeftOut.Secret, again.LeftOut.Secret, len(want))
	}
	l.pipe(Options{}, "A key", key)
	if reason := l.events.skipped()["stdin:A key"]; reason != wire.SecretKey {
		t.Errorf("a piped key: %q", reason)
	}
}

func TestSecretUploads(t *testing.T) {
	for name, content := range map[string]string{"id_rsa": "x", "notes.md": "# Key\n\n" + privateKey(t), "t.txt": someToken} {
		if text, err := TextOf(t.Context(), nil, name, []byte(content)); err == nil || !wire.IsSecret(err.Error()) || bytes.Contains([]byte(text), []byte("KEY")) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

func FuzzSecretIn(f *testing.F) {
	for _, text := range []string{"", someToken, "a: " + otherToken, "-----BEGIN PRIVATE KEY-----\nMIIE", strings.Repeat("LS0tLS1CRUdJTi", 3), "PuTTY-User-Key-File-2", "eyJ.eyJ."} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		err := secretIn(text, false, true)
		if got := secretIn(text+"\n"+someToken, false, true); got == nil {
			t.Errorf("a token after %q (%v) is not found", text, err)
		}
	})
}

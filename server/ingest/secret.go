package ingest

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"errors"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"quarry/client/wire"
	"quarry/internal/pattern"
	"quarry/internal/text"
	"quarry/server/index"
)

// Secrets are left out of every library: a search result, a prompt or a model's context is no place for them. They are
// known by the file's name and by the text, since people rename files and keys are pasted into others. The lists follow
// those of gitleaks and of GitHub's secret scanning.

var (
	errSecretName  = errors.New(wire.SecretName)
	errSecretKey   = errors.New(wire.SecretKey)
	errSecretToken = errors.New(wire.SecretToken)
)

// secretNames are patterns of names, in lower case, of files that hold keys, passwords or what was typed; with the
// folder where other programs have files of such a name.
//
//go:embed secretnames.txt
var secretNames string

var secretPatterns = strings.Fields(secretNames)

// isSecretName reports whether files of a name are never read. Public keys and templates are, and so are texts and
// source code about such a file, such as credentials.md. A path also has the name of its folder.
func isSecretName(name string) bool {
	name = strings.ToLower(name)
	base := path.Base(name)
	extension := path.Ext(base)
	switch extension {
	case ".pub", ".example", ".sample", ".template", ".tmpl", ".dist", ".md", ".markdown", ".html", ".pdf", ".docx":
		return false
	case "":
	case ".bak", ".old", ".orig", ".backup", ".save":
		base = strings.TrimSuffix(base, extension)
	default: // id_generation.go is source code
		if strings.HasPrefix(base, "id_") {
			return text.IsAmong(base[len("id_"):len(base)-len(extension)], "rsa dsa ecdsa ed25519 xmss")
		}
	}
	inFolder := path.Join(path.Base(path.Dir(name)), base)
	return slices.ContainsFunc(secretPatterns, func(pattern string) bool {
		return pattern == base || pattern == inFolder ||
			strings.Contains(pattern, "*") && doublestar.MatchUnvalidated(pattern, base)
	})
}

// includes reports whether patterns name a file, by its name alone or, if they have a slash, by its path from the root.
func includes(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		subject := name
		if !strings.Contains(pattern, "/") {
			subject = path.Base(name)
		}
		return doublestar.MatchUnvalidated(strings.TrimPrefix(pattern, "/"), subject)
	})
}

// checkSecret returns an error for a document that holds a secret. Prose may show what an assignment looks like; in
// other texts one is a setting.
func checkSecret(doc *index.Document) error {
	isProse := text.IsAmong(doc.Type, "md mdx markdown html rst org eml pdf docx odt epub")
	fields := []string{doc.Title}
	for _, author := range doc.Authors {
		fields = append(fields, author.Name, author.Email)
	}
	for _, field := range doc.Metadata {
		fields = append(fields, field.Values...)
	}
	for _, field := range fields {
		if err := secretIn(field, true, true); err != nil {
			return err
		}
	}
	for i := range doc.Chunks {
		if err := secretIn(doc.Chunks[i].Text, isProse, len(doc.Chunks) == 1); err != nil {
			return err
		}
	}
	return nil
}

// withoutSecrets returns the messages of a conversation that hold no secret, and reports the others.
func withoutSecrets[M any](c *collector, title string, messages []M, text func(M) string) []M {
	if c.task.includes("") {
		return messages
	}
	return slices.DeleteFunc(messages, func(message M) bool {
		err := secretIn(text(message), true, false)
		if err != nil {
			c.innerProblem(title, err)
		}
		return err != nil
	})
}

// secretIn returns an error for a text with a private key, or with an access token alone on a line. whole is set where
// the text is all of a file.
func secretIn(text string, isProse, whole bool) error {
	if hasPrivateKey(text) {
		return errSecretKey
	}
	if token := strings.TrimSpace(text); whole && (isToken(token, false) || isWebToken(token)) {
		return errSecretToken
	}
	for line := range strings.Lines(text) {
		if len(line) >= shortestToken && isToken(tokenOfLine(line, isProse), true) {
			return errSecretToken
		}
	}
	return nil
}

// keyStart matches the first line of a private key in PEM, or of one of PGP or PuTTY.
var keyStart = pattern.Lazy(`-----BEGIN[ A-Z0-9]{0,100}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d`)

// keyBody matches so much of a key as no explanation shows.
var keyBody = pattern.Lazy(`[A-Za-z0-9+/]{40}`)

// armoredStart matches 48 bytes of base64 that begin with -----BEGIN.
var armoredStart = pattern.Lazy(`LS0tLS1CRUdJTi[A-Za-z0-9+/]{50}`)

// hasPrivateKey reports whether text contains a private key, also as a string of JSON and as the base64 of a
// kubeconfig.
func hasPrivateKey(text string) bool {
	const headers = 2 << 10 // bytes of a key before its first line of base64, such as Proc-Type
	if strings.Contains(text, "PRIVATE KEY") || strings.Contains(text, "PuTTY-User-Key-File-") {
		for _, at := range keyStart().FindAllStringIndex(text, -1) {
			body, _, _ := strings.Cut(text[at[1]:min(len(text), at[1]+headers)], "-----END")
			if keyBody().MatchString(body) {
				return true
			}
		}
	}
	return slices.ContainsFunc(armoredStart().FindAllString(text, -1), func(start string) bool {
		decoded, _ := base64.StdEncoding.DecodeString(start) // its alphabet matched
		return bytes.Contains(decoded, []byte("PRIVATE KEY"))
	})
}

// tokenOfLine returns what may be a token: the line, or outside prose the value that it assigns.
func tokenOfLine(line string, isProse bool) string {
	const longest = 1_000
	if len(line) > longest {
		return ""
	}
	line = strings.TrimSpace(line)
	if !isProse {
		if at := strings.IndexAny(line, "=:"); at > 0 && len(strings.Fields(line[:at])) <= 2 {
			line = line[at+1:]
		}
	}
	return strings.ReplaceAll(strings.Trim(line, " \t\"'`,;"), `\`, "") // Markdown made of an office document escapes _
}

// tokenForms are what access tokens begin with, and how many characters follow at least.
var tokenForms = [...]struct {
	least    int
	prefixes []string
}{
	{16, strings.Fields(`AKIA ASIA ABIA ACCA sk_live_ sk_test_ rk_live_ rk_test_ sm_pat_ sm_aat_ sm_sat_`)},
	{20, strings.Fields(`glpat- gldt- glrt- glptt- glcbt- gloas- glsoat- glimt- glft- glffct- glagent- GR1348941 xoxa-
		xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp- onyx_pat_ LTAI whsec_ GOCSPX- tskey- dckr_pat_
		sq0atp- sq0csp- figd_ NRAK-`)},
	{30, strings.Fields(`ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ npm_ hf_ api_org_ AIza ya29. sk- gsk_ xai- r8_ pplx-
		nvapi- dapi shpat_ shpca_ shppa_ shpss_ glsa_ glc_ ntn_ secret_ lin_api_ PMAK- pul- pscale_tkn_ pscale_pw_
		pscale_oauth_ pnu_ rdme_ sgp_ ico- dt0c01. fio-u- tk-us- EZAK key- CFPAT-`)},
	{40, strings.Fields(`pypi-AgE rubygems_ dop_v1_ doo_v1_ dor_v1_ dp.pt. SG. hvs. hvb. hvr. ABSK ops_eyJ AKCp cmVmd
		HRKU- AGE-SECRET-KEY-1 CLOJARS_ sntrys_ sntryu_ xkeysib- fo1_ fm1a_ fm1r_ fm2_ EAAA shippo_live_
		shippo_test_ ATATT3 ATCTT3 duffel_live_ duffel_test_ sha256~`)},
}

const shortestToken = 20

// isToken reports whether text is an access token. random leaves out placeholders, as documentation has them.
func isToken(text string, random bool) bool {
	const longest = 600
	if len(text) < shortestToken || len(text) > longest || strings.ContainsAny(text, " \t\n") {
		return false
	}
	for _, form := range tokenForms {
		for _, prefix := range form.prefixes {
			if rest, found := strings.CutPrefix(text, prefix); found && len(rest) >= form.least && isTokenText(rest) {
				isText := !strings.ContainsFunc(rest,
					func(r rune) bool { return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' })
				return !isText && (!random || isRandom(rest))
			}
		}
	}
	return false
}

func isTokenText(text string) bool {
	const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+/=~"
	return strings.Trim(text, alphabet) == ""
}

// isRandom reports whether text looks drawn at random: at least 3 bits a character (16 hexadecimal digits have 3.2 on
// average), and nothing that people type.
func isRandom(text string) bool {
	lower := strings.ToLower(text)
	for _, typed := range [...]string{"example", "xxxx", "1234", "abcd", "0000", "your", "redacted", "token",
		"secret", "..."} {
		if strings.Contains(lower, typed) {
			return false
		}
	}
	counts := map[byte]float64{}
	for i := range len(text) {
		counts[text[i]]++
	}
	bits := 0.0
	for _, n := range counts {
		bits -= n * math.Log2(n/float64(len(text)))
	}
	return bits/float64(len(text)) >= 3
}

// isWebToken reports whether text is a JSON web token. Pages show expired ones, so it counts only as a whole file.
func isWebToken(text string) bool {
	return len(text) > 60 && strings.HasPrefix(text, "eyJ") && strings.Contains(text, ".eyJ") &&
		strings.Count(text, ".") == 2 && isTokenText(text)
}

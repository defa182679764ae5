package ingest

import (
	"archive/zip"
	"context"
	"encoding/json"
	"html"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"encoding/base64"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/server/index"
	"quarry/server/segments"
)

// TestCorporaAreSearchable adds every corpus and looks for a phrase from the middle of each file. The phrase is taken from
// the file without the readers that the library uses, except of PDF files and a few mails. A file without a document must be skipped with a
// reason. It takes a minute: `make corpora`.
func TestCorporaAreSearchable(t *testing.T) {
	root := filepath.Join(dataFolder(t), "corpora")
	if os.Getenv("QUARRY_SLOW") == "" {
		t.Skip("QUARRY_SLOW is not set: `make corpora` runs this")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	local := Local{Readers: newTestReaders(t)}
	idx, err := segments.Open(ctx, segments.Options{Dir: t.TempDir()})
	must(t, err)
	defer idx.Close()
	entries, err := os.ReadDir(root)
	must(t, err)
	c := corpora{t: t, skipped: map[string]string{}}
	var paths []string
	for _, entry := range entries {
		paths = append(paths, filepath.Join(root, entry.Name()))
	}
	_, err = Add(ctx, idx, paths, Options{Local: local}, func(event wire.LibraryEvent) {
		if event.Type == wire.LibrarySkipped {
			c.skipped[event.Path] = event.Reason
		}
	})
	must(t, err)
	c.snapshot, err = idx.Snapshot(ctx)
	must(t, err)
	defer c.snapshot.Close()
	for _, corpus := range paths {
		export, _ := filepath.Glob(filepath.Join(corpus, "users.json"))
		must(t, filepath.WalkDir(corpus, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil || strings.HasPrefix(entry.Name(), "."):
				return err
			case entry.Type().IsRegular() && len(export) > 0 && filepath.Dir(path) != corpus && filepath.Ext(path) == ".json":
				c.slackDay(ctx, path)
			case entry.Type().IsRegular() && (len(export) == 0 || filepath.Ext(path) != ".json"):
				c.file(ctx, filepath.ToSlash(path))
			}
			return nil
		}))
	}
	t.Logf("%d files: a phrase of %d finds them, %d without words are stored, %d are skipped", c.found+c.wordless+c.unread, c.found, c.wordless, c.unread)
}

type corpora struct {
	t        *testing.T
	skipped  map[string]string
	snapshot index.Snapshot

	found, wordless, unread int
}

// file checks a file that is a document.
func (c *corpora) file(ctx context.Context, file string) {
	id, all := fileID(file), index.Access{All: true}
	stored, err := c.snapshot.Documents(ctx, []string{id}, all)
	must(c.t, err)
	if reason := c.skipped[file]; len(stored) == 0 || reason != "" {
		c.unread++
		if len(stored) > 0 || reason == "" {
			c.t.Errorf("%s: stored %d times, skipped because %q", file, len(stored), reason)
		}
		if phrase := middle(plainTextOf(c.t, file)); phrase != "" && reason == errEmpty.Error() {
			c.t.Errorf("%s is skipped as empty, but contains %q", file, phrase)
		}
		return
	}
	phrase := middle(plainTextOf(c.t, file))
	if phrase == "" { // PDF, UTF-32, mail in UTF-16
		texts, err := c.snapshot.Texts(ctx, []index.Range{{DocumentID: id, To: stored[0].ChunkCount - 1}}, all)
		must(c.t, err)
		text := ""
		for _, chunk := range texts[0] {
			text += chunk.Text + "\n"
		}
		phrase = middle(text)
	}
	if phrase == "" {
		c.wordless++
		return
	}
	if c.finds(ctx, phrase, index.Filter{Access: all, Documents: []string{id}}) {
		c.found++
	} else {
		c.t.Errorf("%s: %q does not find it", file, phrase)
	}
}

// slackDay checks the messages of a channel and a day.
func (c *corpora) slackDay(ctx context.Context, file string) {
	data, err := os.ReadFile(file)
	must(c.t, err)
	var messages []struct{ Text, Subtype string }
	must(c.t, json.Unmarshal(data, &messages))
	var texts []string
	for _, m := range messages {
		if m.Subtype != "channel_join" && m.Subtype != "channel_leave" {
			texts = append(texts, regexp.MustCompile(`<[^>]*>`).ReplaceAllString(html.UnescapeString(m.Text), "\n"))
		}
	}
	phrase := middle(strings.Join(texts, "\n"))
	if phrase == "" {
		c.wordless++
		return
	}
	channel := field.Pair("Channel", filepath.Base(filepath.Dir(file)))
	if c.finds(ctx, phrase, index.Filter{Access: index.Access{All: true}, Any: field.Keys{field.Source: {"slack"}, field.Tag: {channel}}}) {
		c.found++
	} else {
		c.t.Errorf("%s: %q does not find it", file, phrase)
	}
}

func (c *corpora) finds(ctx context.Context, phrase string, filter index.Filter) bool {
	result, err := c.snapshot.Search(ctx, index.Query{Text: phrase, Phrases: []string{phrase}, Limit: 1, Filter: filter})
	must(c.t, err)
	return len(result.Hits) > 0
}

// middle returns the run of four words, or of fewer where there is none, that is nearest to the middle of a text.
func middle(text string) string {
	for _, run := range [...]string{`\p{L}{2,}(?: \p{L}{2,}){3}`, `\p{L}{2,}(?: \p{L}{2,})`, `\p{L}{3,}`} {
		best, distance := "", len(text)+1
		for _, at := range regexp.MustCompile(run).FindAllStringIndex(text, -1) {
			if d := max(at[0]-len(text)/2, len(text)/2-at[1]); d < distance && wholeWords(text, at) {
				best, distance = text[at[0]:at[1]], d
			}
		}
		if best != "" {
			return best
		}
	}
	return ""
}

// wholeWords reports whether a run does not begin or end within a word, an address or a name.
func wholeWords(text string, at []int) bool {
	const inWord = "_-./:@#%&=+'’\\<>{}[]()\"*`~^|$"
	before, _ := utf8.DecodeLastRuneInString(text[:at[0]])
	after, _ := utf8.DecodeRuneInString(text[at[1]:])
	digit := func(r rune) bool { return r >= '0' && r <= '9' }
	return !strings.ContainsRune(inWord, before) && !strings.ContainsRune(inWord[:15], after) && !digit(before) && !digit(after)
}

// plainTextOf returns the text of a file by the simplest means.
func plainTextOf(t *testing.T, file string) string {
	data, err := os.ReadFile(file)
	must(t, err)
	switch strings.ToLower(path.Ext(file)) {
	case ".html", ".htm", ".xml":
		return withoutTags(decoded(data), path.Ext(file) == ".xml")
	case ".eml":
		return mailText(data)
	case ".pdf":
		return ""
	case ".docx", ".pptx", ".xlsx", ".odt", ".epub":
		archive, err := zip.OpenReader(file)
		if err != nil {
			return ""
		}
		defer archive.Close()
		var out strings.Builder
		for _, part := range archive.File {
			if !regexp.MustCompile(`^(word/document|ppt/slides/slide\d+|xl/sharedStrings|content)\.xml$|\.xhtml$|\.html$`).MatchString(part.Name) {
				continue
			}
			in, err := part.Open()
			must(t, err)
			xml, err := io.ReadAll(in)
			must(t, err)
			out.WriteString(withoutTags(string(xml), false) + "\n")
		}
		return out.String()
	}
	return decoded(data)
}

// withoutTags returns the words of markup. A tag that does not begin or end a word within a paragraph ends a line.
func withoutTags(text string, verbatim bool) string {
	if verbatim { // XML is stored as code
		return text
	}
	text = regexp.MustCompile(`(?is)<(script|style|nav|noscript|template|svg|iframe|object|w:del|w:instrText|mc:Fallback)\b.*?</(script|style|nav|noscript|template|svg|iframe|object|w:del|w:instrText|mc:Fallback)>|<!--.*?-->|<p:ph type="(dt|ftr|sldNum)".*?</p:sp>`).ReplaceAllString(text, "\n")
	text = regexp.MustCompile(`(?i)</?(b|i|em|strong|span|w:r|w:t|w:rPr|w:b|w:i|a:r|a:t|a:rPr|text:span)(\s[^>]*)?/?>`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`(?s)<[^>]*>`).ReplaceAllString(text, "\n")
	return html.UnescapeString(text)
}

// decoded returns text in UTF-8 or UTF-16; in others its letters of ASCII.
func decoded(data []byte) string {
	zeros := 0
	for _, b := range data {
		if b == 0 {
			zeros++
		}
	}
	if zeros > len(data)/4 {
		little := data[0] == 0xFF || data[0] != 0xFE && data[1] == 0
		units := make([]uint16, len(data)/2)
		for i := range units {
			if units[i] = uint16(data[2*i])<<8 | uint16(data[2*i+1]); little {
				units[i] = units[i]>>8 | units[i]<<8
			}
		}
		return string(utf16.Decode(units))
	}
	if utf8.Valid(data) {
		return string(data)
	}
	return strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf {
			return '_'
		}
		return r
	}, string(data))
}

// mailText returns the first readable part of a message.
func mailText(data []byte) string {
	message, err := mail.ReadMessage(strings.NewReader(string(data)))
	if err != nil {
		return ""
	}
	return partText(textproto.MIMEHeader(message.Header), message.Body)
}

func partText(header textproto.MIMEHeader, body io.Reader) string {
	kind, parameters, _ := mime.ParseMediaType(header.Get("Content-Type"))
	if strings.HasPrefix(kind, "multipart/") {
		parts := multipart.NewReader(body, parameters["boundary"])
		for {
			part, err := parts.NextRawPart()
			if err != nil {
				return ""
			}
			if text := partText(part.Header, part); text != "" {
				return text
			}
		}
	}
	if !slices.Contains([]string{"", "text/plain", "text/html"}, kind) {
		return ""
	}
	switch strings.ToLower(header.Get("Content-Transfer-Encoding")) {
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	}
	data, _ := io.ReadAll(body)
	if kind == "text/html" {
		return withoutTags(decoded(data), false)
	}
	return decoded(data)
}

package api

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/directory"
	"quarry/server/ingest"
)

// refusal holds a refused body to the shape of refusals.
func refusal(t *testing.T, err error) {
	t.Helper()
	var f failure
	if !errors.As(err, &f) || f.status != http.StatusBadRequest && f.status != http.StatusUnprocessableEntity {
		t.Fatalf("refused with %v", err)
	}
	if text := f.Error(); len(text) > 20_000 || !utf8.ValidString(text) {
		t.Errorf("%d bytes of refusal: %.200q", len(text), text)
	}
}

func within(t *testing.T, what, text string, most int) {
	t.Helper()
	if n := utf8.RuneCountInString(text); n > most || !utf8.ValidString(text) {
		t.Errorf("%s has %d characters: %.100q", what, n, text)
	}
}

// bodySeeds are what every route is sent once.
func bodySeeds(f *testing.F, bodies ...string) {
	for _, body := range append(bodies, "", "{", "null", "[]", `"x"`, "{}", "\xff\xfe{\x00}", strings.Repeat("[", 20_000),
		strings.Repeat(`{"message":`, 20_000), `{"\u0000":"\ud800"}`, "\x1f\x8b\x08\x00\x00\x00\x00\x00") {
		f.Add([]byte(body))
	}
}

// FuzzChatRequest: what is read of a question is within its bounds, and nothing that was not sent.
func FuzzChatRequest(f *testing.F) {
	bodySeeds(f, `{"message":"x"}`, `{"message":"x","MESSAGE":"y"}`, `{"message":5}`, `{"message":"a","message":"b"}`,
		`{"message":"x","chat_session_id":"b74b3836-9241-5e96-9564-55100a38a205","parent_message_id":null,"stream":"no"}`,
		`{"message":"x","chat_session_info":{"persona_id":1,"incognito":true,"incognito_session_id":"{b74b3836-9241-5e96-9564-55100a38a205}"}}`,
		`{"message":"x","file_descriptors":[{"id":"f","type":"plain_text"},{"id":"g","type":5}],"llm_override":{"model_provider":"p"}}`,
		`{"message":"x","refs":["a#0","b"]}`, `{"message":"x","refs":["",null,5]}`, `{"message":"x","refs":{}}`,
		`{"message":"x","internal_search_filters":{"source_type":["web"],"document_set":[""],"tags":[{"tag_key":"k","tag_value":"v"}],
		"updated_at_range":{"start":"2026-01-01","end":1e308},"phrases":["p"],"exclude_filters":{"sources":["web","?"],"tags":[{}],"authors":[""]}}}`)
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/chat/send-chat-message", bytes.NewReader(body))
		request, err := decodeChat(bodyFields(r))
		if err != nil {
			refusal(t, err)
			return
		}
		within(t, "the question", request.Message, maxChatRunes)
		within(t, "its context", request.AdditionalContext, maxChatRunes)
		if request.Message == "" || !bytes.Contains(body, []byte(`"message"`)) && !bytes.Contains(body, []byte(`\u`)) {
			t.Errorf("the question %q was not sent", request.Message)
		}
		ids := []string{request.ChatSessionID}
		if request.ChatSessionInfo != nil {
			ids = append(ids, request.ChatSessionInfo.IncognitoID)
			if request.ChatSessionID != "" {
				t.Error("an old session and a new one")
			}
		}
		for _, id := range ids {
			if parsed, err := uuid.Parse(id); id != "" && (err != nil || parsed.String() != id) {
				t.Errorf("session %q", id)
			}
		}
		if len(request.FileDescriptors) > wire.MaxUploadFiles {
			t.Errorf("%d files", len(request.FileDescriptors))
		}
		if len(request.Refs) > wire.MaxChatRefs || slices.Contains(request.Refs, "") {
			t.Errorf("passages %q", request.Refs)
		}
		for _, ref := range request.Refs {
			within(t, "a passage", ref, maxDocumentID)
		}
		search := request.search(0)
		within(t, "the query", search.Query, wire.MaxQueryRunes)
		for _, source := range search.Sources {
			if !slices.Contains(wire.SourceValues(), source) {
				t.Errorf("source %q", source)
			}
		}
		if got := sessionOf(r, body); got != "" && len(got) > 200 {
			t.Errorf("a session of %d bytes is counted", len(got))
		}
	})
}

// FuzzPersona: what is read of an agent is within its bounds, and the directory takes it or says why not.
func FuzzPersona(f *testing.F) {
	bodySeeds(f, `{"name":"x","is_public":1,"users":["u"],"groups":["5",6],"document_ids":["",""],"search_start_date":"2026-01-01"}`,
		`{"name":"HRBot\u200b","starter_messages":[{"name":"n","message":"m"},{"name":null,"message":5}]}`,
		`{"name":"\u202ex","document_set_ids":[1e3,"1",null,{}],"tool_ids":[1.5]}`, `{"Name":"x"}`)
	d, err := directory.Open(f.Context(), "", false, time.Now)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = d.Close() })
	f.Fuzz(func(t *testing.T, body []byte) {
		fields := objectFields(body)
		agent := readAgent(fields, directory.Agent{})
		if err := fields.failure(); err != nil {
			refusal(t, err)
			return
		}
		within(t, "the name", agent.Name, longestLabel)
		within(t, "the prompt", agent.SystemPrompt, longestPrompt)
		if len(agent.Documents)+len(agent.Audience.Users)+len(agent.Audience.Groups)+len(fields.numbers("document_set_ids"))+
			len(fields.texts("user_file_ids")) > 5*maxListItems {
			t.Errorf("%d documents, %d users, %d groups", len(agent.Documents), len(agent.Audience.Users), len(agent.Audience.Groups))
		}
		added, err := d.In(t.Context(), directory.DefaultTenant).AddAgent(agent)
		if err != nil {
			if _, known := explain(err, false); !known {
				t.Fatal(err)
			}
			return
		}
		if strings.ContainsFunc(agent.Name, unicode.IsControl) || strings.TrimSpace(agent.Name) == "" {
			t.Errorf("the name %q was taken", agent.Name)
		}
		if err := d.In(t.Context(), directory.DefaultTenant).RemoveAgent(added.ID); err != nil {
			t.Error(err)
		}
	})
}

// FuzzIngestionBody: a posted document is refused, or has an id, a title and text that can be stored.
func FuzzIngestionBody(f *testing.F) {
	bodySeeds(f, `{"document":{"id":"a","sections":[{"text":"x","link":"javascript:x"}],"semantic_identifier":"t","source":"web"}}`,
		`{"doCument":{"seCtions":[{"teXt":"#"}]}}`, `{"document":{"sections":[{"text":"#"}],"semantic_identifier":""}}`,
		`{"document":{"sections":[{"text":"| a |"}],"semantic_identifier":"t","metadata":{"k":["v",1],"":{}},"doc_updated_at":-1e18},"cc_pair_id":"1"}`,
		`{"document":{"sections":[],"semantic_identifier":"t","external_access":{"external_user_emails":["a@b"],"is_public":null}}}`,
		`{"document":{"sections":[{"text":"\u0000\u202e"}],"semantic_identifier":"\u001b[2J","primary_owners":[{"email":"x"}]}}`)
	f.Fuzz(func(t *testing.T, body []byte) {
		fields := objectFields(body)
		posted := decodeDocument(fields)
		if err := fields.failure(); err != nil {
			refusal(t, err)
			return
		}
		stored, err := ingest.FromIngestion(posted, today)
		if err != nil {
			if text := err.Error(); len(text) > 5_000 {
				t.Errorf("%d bytes of refusal", len(text))
			}
			return
		}
		if stored.ID == "" || stored.Title == "" || stored.Source == "" || len(stored.Chunks) == 0 {
			t.Errorf("stored %+v", stored)
		}
		if strings.ContainsFunc(stored.Title, unicode.IsControl) || strings.HasPrefix(strings.ToLower(stored.Link), "javascript:") {
			t.Errorf("title %q, link %q", stored.Title, stored.Link)
		}
	})
}

// FuzzUpload: files have names without folders and control characters, and as many as may be are taken.
func FuzzUpload(f *testing.F) {
	for _, names := range [][]string{{"a.txt"}, {"../../etc/passwd", `C:\x\y.md`}, {"\x00\x1b", ".."}, make([]string, 25)} {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		_ = form.WriteField("temp_id_map", `{"a.txt":"7"}`)
		for _, name := range names {
			part, err := form.CreateFormFile("files", name+"x")
			if err != nil {
				f.Fatal(err)
			}
			_, _ = io.WriteString(part, "text")
		}
		_ = form.Close()
		f.Add(form.FormDataContentType(), body.Bytes())
		f.Add(form.FormDataContentType(), body.Bytes()[:body.Len()/2])
	}
	f.Add("multipart/form-data", []byte("--"))
	f.Add("multipart/form-data; boundary=x", []byte("--x\r\nContent-Disposition: form-data; name=\"files\"; filename*=UTF-8''%00%2f\r\n\r\n\r\n--x--"))
	f.Add("multipart/mixed; boundary=x", []byte("--x\r\n"+strings.Repeat("A: b\r\n", 20_000)))
	f.Fuzz(func(t *testing.T, media string, body []byte) {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/user/projects/file/upload", bytes.NewReader(body))
		r.Header.Set("Content-Type", media)
		var files []uploaded
		var form *fields
		if err := guard.Ended(func() { files, form = readUpload(r) }); err != nil {
			refusal(t, err)
			return
		}
		if len(files) == 0 || len(files) > wire.MaxUploadFiles {
			t.Errorf("%d files", len(files))
		}
		size, names := 0, temporaryIDs(form)
		for _, file := range files {
			size += len(file.data)
			within(t, "the name", file.name, maxFileName)
			if file.name == "" || path.Base(file.name) != file.name || strings.ContainsAny(file.name, `/\`) || strings.ContainsFunc(file.name, unicode.IsControl) {
				t.Errorf("the name %q", file.name)
			}
			if strings.ContainsAny(file.media, "\r\n") || file.media == "" {
				t.Errorf("the media type %q", file.media)
			}
			temporaryID(names, file)
		}
		if size > len(body) {
			t.Errorf("%d bytes of %d", size, len(body))
		}
	})
}

// FuzzNames: a listener on this machine answers to names of this machine only, and to pages of the same name.
func FuzzNames(f *testing.F) {
	for _, host := range []string{"localhost", "LOCALHOST.:8080", "127.0.0.1:1", "[::1]:1", "::1", "evil.example", "localhost.evil.example",
		"localhost:80@evil.example", "evil.example#.localhost", "[::ffff:127.0.0.1]", "0", "127.1", "2130706433", "", ":", "[", "a.localhost\x00"} {
		f.Add(host, "http://"+host)
		f.Add(host, "https://evil.example")
	}
	f.Add("localhost", "null")
	f.Add("localhost", "http://localhost@evil.example")
	f.Add("localhost", "http:/\\localhost")
	f.Fuzz(func(t *testing.T, host, origin string) {
		known := names{loopback: true}
		if known.includes(host) && !ofThisMachine(host) {
			t.Errorf("answers to %q", host)
		}
		r := &http.Request{Host: host, Header: http.Header{"Origin": {origin}}}
		if !known.allowsOrigin(r) {
			return
		}
		from, err := url.Parse(origin)
		if err != nil || from.Scheme != "http" && from.Scheme != "https" || !strings.EqualFold(from.Host, host) {
			t.Errorf("%q is allowed at %q", origin, host)
		}
	})
}

// ofThisMachine reports whether a host means this machine by its name alone, read in another way than the listener does.
func ofThisMachine(host string) bool {
	name := strings.ToLower(host)
	if at := strings.LastIndexByte(name, ':'); at >= 0 && (strings.Count(name, ":") == 1 || strings.Contains(name[:at], "]")) {
		name = name[:at]
	}
	name = strings.TrimSuffix(name, ".")
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if address, err := netip.ParseAddr(name); err == nil {
		return address.Unmap().IsLoopback()
	}
	labels := strings.Split(name, ".")
	return labels[len(labels)-1] == "localhost"
}

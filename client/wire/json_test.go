package wire

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
)

// targets are the shapes that foreign JSON is decoded into.
func targets() []any {
	return []any{new(SearchResponse), new(SearchEvent), new(IngestionDocument), new(ChatObject), new(ChatSessionDetail),
		new([]Persona), new(map[string]stdjson.RawMessage), new(any), new(string)}
}

func TestUnmarshalMatchesKeysExactly(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"Text", "TEXT", "teXt", "tex\\u0054", "li\\u212a", "\\u017fections"} {
		var section IngestionSection
		document := IngestionDocument{}
		text := fmt.Sprintf(`{"%s":"x","text":"kept"}`, key)
		if err := Unmarshal([]byte(text), &section); err != nil || section.Text != "kept" {
			t.Errorf("%s: %+v, %v", text, section, err)
		}
		if err := Unmarshal(fmt.Appendf(nil, `{"%s":[{"text":"x"}]}`, key), &document); err != nil || document.Sections != nil {
			t.Errorf("%s: %+v, %v", key, document, err)
		}
	}
	var section IngestionSection
	if err := Unmarshal([]byte(`{"te\u0078t":"escaped"}`), &section); err != nil || section.Text != "escaped" {
		t.Errorf("%+v, %v", section, err)
	}
}

// TestUnmarshalReportsWhatIsWrong: JSON of another shape by its field and without the types of this program, all else as
// encoding/json does.
func TestUnmarshalReportsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"primary_owners":"x"}`: "unexpected string in primary_owners", `{"sections":[{"text":1}]}`: "unexpected number in sections.0.text",
		`[]`: "unexpected array", `{"external_access":{"external_user_emails":[1]}}`: "unexpected number in external_access.external_user_emails.0",
	} {
		var into struct{ IngestionDocument }
		decoded := NewDecoder(strings.NewReader(text)).Decode(&into)
		var shape *UnmarshalTypeError
		if err := Unmarshal([]byte(text), &into); fmt.Sprint(err) != want || fmt.Sprint(decoded) != want || !errors.As(err, &shape) {
			t.Errorf("%s: %v, %v, want %s", text, err, decoded, want)
		}
	}
	for _, text := range []string{``, `{`, `{"text":"x"}x`, `{"text":nul}`, `{"text":"\ud800"}`,
		"{\"text\":\"\xff\"}"} {
		var got, want IngestionSection
		gotErr, wantErr := Unmarshal([]byte(text), &got), stdjson.Unmarshal([]byte(text), &want)
		if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) || got != want {
			t.Errorf("%.20q: %v, %+v; encoding/json: %v, %+v", text, gotErr, got, wantErr, want)
		}
		var syntax *SyntaxError
		var wantSyntax *stdjson.SyntaxError
		if errors.As(gotErr, &syntax) != errors.As(wantErr, &wantSyntax) || syntax != nil && syntax.Offset != wantSyntax.Offset {
			t.Errorf("%.20q: %#v, want %#v", text, gotErr, wantErr)
		}
	}
	for _, deep := range []string{`{"x":`, `[`, `{"text":[`} {
		if err := Unmarshal([]byte(strings.Repeat(deep, 1<<20)), new(IngestionSection)); err == nil {
			t.Errorf("%s without end is accepted", deep)
		}
	}
}

func TestDecoder(t *testing.T) {
	t.Parallel()
	in := NewDecoder(strings.NewReader("{\"text\":\"a\"}\n\n{\"Text\":\"b\"} {\"text\":"))
	var a, b, c IngestionSection
	errs := []error{in.Decode(&a), in.Decode(&b), in.Decode(&c)}
	if errs[0] != nil || errs[1] != nil || a.Text != "a" || b.Text != "" || errs[2] == nil || errs[2] == io.EOF {
		t.Errorf("%+v, %+v, %+v: %v", a, b, c, errs)
	}
	if err := NewDecoder(strings.NewReader(" \n")).Decode(&a); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestLowerKeys(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"a":1.50,"A":[{"b":2}],"b":"B"}`:    `{"a":1.50,"b":"B"}`,
		`{"a":{"O\u212a":1,"ok":true},"K":3}`: `{"a":{"ok":true}}`,
		`["A",{"\u017fo":1},{"so":null}]`:     `["A",{},{"so":null}]`,
		`"A"`:                                 `"A"`,
		``:                                    ``,
	} {
		if got, err := LowerKeys([]byte(in)); err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("%s: %s, %v, want %s", in, got, err, want)
		}
	}
	for _, broken := range []string{`{`, `{"A":`, `{"a"}`, `<html>`} {
		if got, err := LowerKeys([]byte(broken)); err == nil {
			t.Errorf("%s: %s", broken, got)
		}
	}
}

// FuzzUnmarshal compares Unmarshal with encoding/json, which differs only where a key has another case.
func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"results":[{"title":"a","metadata":{"k":["v",1,true]},"highlights":[[0,1]]}],"stages":null}`))
	f.Add([]byte(`{"type":"message_delta","content":"x","documents":[{"document_id":"d"}]}`))
	f.Add([]byte(`{"sections":[{"text":"t"}],"doc_updated_at":1e9,"doc_updated_at":"2026-01-01"}`))
	f.Add([]byte(`[{"id":1,"name":"a"},{"id":2e0}]`))
	f.Add([]byte("{\"title\":\"\xff\\ud800\",\"\xff\":0}"))
	f.Add([]byte(`{"results":{"Title":1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		lower, err := LowerKeys(data)
		if stdjson.Valid(data) && err != nil {
			t.Fatal(err)
		}
		if err != nil {
			lower = data
		}
		exact := targets()
		for i, want := range targets() {
			wantErr, gotErr := stdjson.Unmarshal(lower, want), Unmarshal(lower, exact[i])
			if (wantErr == nil) != (gotErr == nil) {
				t.Fatalf("%T: %v, encoding/json: %v", want, gotErr, wantErr)
			}
			if wantErr == nil && !reflect.DeepEqual(exact[i], want) {
				t.Fatalf("%T: %+v, encoding/json: %+v", want, exact[i], want)
			}
		}
	})
}

func BenchmarkUnmarshal(b *testing.B) {
	response := SearchResponse{Stages: []Stage{}}
	for i := range 50 {
		response.Results = append(response.Results, SearchResult{
			Title: "Runbook: rolling back a release", SourceType: "confluence", DocumentID: fmt.Sprint("c:", i), Ref: "c:1#2",
			Content:    strings.Repeat("Roll back when the error budget — of the day — is spent.\n", 40),
			Highlights: []Span{{0, 4}, {5, 9}, {700, 710}}, BestPassage: Span{600, 900},
			Metadata: map[string]Metadata{"team": One("infra")}, Authors: []string{"Kim Lee"},
		})
	}
	FillEmpty(&response)
	body, err := stdjson.Marshal(response)
	if err != nil {
		b.Fatal(err)
	}
	for name, unmarshal := range map[string]func([]byte, any) error{"exact": Unmarshal, "encoding/json": stdjson.Unmarshal} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if err := unmarshal(body, new(SearchResponse)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

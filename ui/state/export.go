package state

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/passage"
)

// Formats of an export.
const (
	Markdown = "md"
	JSON     = "json"
	CSV      = "csv"
)

// Formats lists the formats of an export, the usual one first.
func Formats() []string { return []string{Markdown, JSON, CSV} }

// exportSchema counts the incompatible changes of the JSON of an export.
const exportSchema = 2

// Export returns passages in a format: for people a numbered list, for programs everything that is known of them.
func Export(passages []Passage, format string) (string, error) {
	switch format {
	case Markdown:
		return exportMarkdown(passages), nil
	case JSON:
		var out strings.Builder
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		err := encoder.Encode(ExportedOf(passages))
		return out.String(), err
	case CSV:
		return exportCSV(passages)
	}
	return "", fmt.Errorf("unknown format %q", format)
}

func exportMarkdown(passages []Passage) string {
	var out strings.Builder
	for i, p := range passages {
		number := strconv.Itoa(i+1) + ". "
		shared := passage.Shared(p.Result(i + 1))
		shared.CitationID = nil
		stale := ""
		if p.Stale != "" {
			stale = "Warning: this passage is " + p.Stale + " since it was marked"
		}
		entry := text.Join("\n\n", passage.Cite(shared), stale, passage.Blockquote(shared.Content),
			labelled("Note: ", p.Note), labelled("Query: ", p.Query))
		indent := strings.Repeat(" ", len(number))
		for j, line := range strings.Split(entry, "\n") {
			switch {
			case j == 0:
				out.WriteString(number)
			case line != "":
				out.WriteString(indent)
			}
			out.WriteString(line + "\n")
		}
		if i < len(passages)-1 {
			out.WriteByte('\n')
		}
	}
	return out.String()
}

func labelled(label, text string) string {
	if text == "" {
		return ""
	}
	return label + text
}

// Exported is an export as JSON.
type Exported struct {
	Passages []ExportedPassage `json:"passages"`
	Schema   int               `json:"schema" jsonschema:"version of this format"`
}

// ExportedPassage is a saved passage with its number.
type ExportedPassage any

type numbered struct {
	Number int `json:"number" jsonschema:"place in the collection, from 1"`
	Passage
}

var exportedPassage = wire.NewProfile[numbered]("number " + savedKeys)

// ExportedType returns the type of a struct with the keys of an ExportedPassage.
func ExportedType() reflect.Type { return exportedPassage.Type() }

// ExportedOf returns passages as they are exported as JSON.
func ExportedOf(passages []Passage) Exported {
	exported := Exported{make([]ExportedPassage, 0, len(passages)), exportSchema}
	for i, p := range passages {
		exported.Passages = append(exported.Passages, exportedPassage.Of(&numbered{i + 1, p}))
	}
	return exported
}

func exportCSV(passages []Passage) (string, error) {
	var out strings.Builder
	rows := csv.NewWriter(&out)
	err := rows.Write(strings.Fields("number title source_type updated_at authors link ref query note marked content " +
		"stale"))
	for i, p := range passages {
		cells := []string{strconv.Itoa(i + 1), p.Title, p.SourceType, text.OrEmpty(p.UpdatedAt),
			strings.Join(p.Authors, ", "), text.OrEmpty(p.Link), p.Ref, p.Query, p.Note,
			p.Marked.UTC().Format(time.RFC3339), p.Content, p.Stale}
		if err == nil {
			err = rows.Write(exslices.CastFunc(cells, inert))
		}
	}
	rows.Flush()
	if err == nil {
		err = rows.Error()
	}
	return out.String(), err
}

// inert keeps a spreadsheet from running a text as a formula.
func inert(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}

package ingest

import (
	"cmp"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/ingest/markdown"
)

// notebook is a Jupyter notebook in the formats 1 to 4. Formats 1 and 4 have the cells, the others worksheets of cells.
type notebook struct {
	Metadata   json.RawMessage   `json:"metadata"`
	Cells      []json.RawMessage `json:"cells"`
	Worksheets []struct {
		Cells []json.RawMessage `json:"cells"`
	} `json:"worksheets"`
}

// notebookMetadata is what a notebook says of itself.
type notebookMetadata struct {
	Title    cellText `json:"title"`
	Name     cellText `json:"name"` // before format 4
	Language struct {
		Name string `json:"name"`
	} `json:"language_info"`
	Kernel struct {
		Language string `json:"language"`
	} `json:"kernelspec"`
	Authors json.RawMessage `json:"authors"`
}

type notebookCell struct {
	Type     string            `json:"cell_type"`
	Source   cellText          `json:"source"`
	Input    cellText          `json:"input"` // of code before format 4
	Code     cellText          `json:"code"`  // in format 1, and Text beside it
	Text     cellText          `json:"text"`
	Language string            `json:"language"`
	Level    int               `json:"level"` // of a heading before format 4
	Outputs  []json.RawMessage `json:"outputs"`
}

// notebookOutput is what a cell shows. Before format 4 it has its data itself, with short names of their types.
type notebookOutput struct {
	Text      cellText            `json:"text"`
	HTML      cellText            `json:"html"`
	Latex     cellText            `json:"latex"`
	Data      map[string]cellText `json:"data"`
	Error     string              `json:"ename"`
	Value     string              `json:"evalue"`
	Traceback []string            `json:"traceback"`
}

// fromNotebook returns the document of a Jupyter notebook: its text, its code, and the text of its outputs. Cells and
// outputs that cannot be read are left out.
func fromNotebook(r *fileReader, text string) extracted {
	var n notebook
	guard.While("it is not a notebook", wire.Unmarshal([]byte(text), &n))
	for _, sheet := range n.Worksheets {
		n.Cells = append(n.Cells, sheet.Cells...)
	}
	if n.Cells == nil {
		guard.Abort(errors.New("it is not a notebook: it has no cells"))
	}
	var about notebookMetadata
	if err := wire.Unmarshal(n.Metadata, &about); err != nil && n.Metadata != nil {
		r.leaveOut("metadata", err)
	}
	language := cmp.Or(about.Language.Name, about.Kernel.Language)
	m := meta{Title: oneLine(string(cmp.Or(about.Title, about.Name)), longestTitle)}
	if fields, err := parseFields("members", `"authors": `+string(about.Authors)); err == nil {
		m.people("authors", fields.Content[1])
	} else if about.Authors != nil {
		r.leaveOut("authors", err)
	}
	var w markdown.Writer
	for i, data := range n.Cells {
		var cell notebookCell
		if err := wire.Unmarshal(data, &cell); err != nil {
			r.leaveOut("cell "+strconv.Itoa(i+1), err)
			continue
		}
		switch cell.Type {
		case "code":
			w.Code(oneLine(cmp.Or(language, cell.Language), 20), string(cell.Source+cell.Input+cell.Code))
		case "heading":
			w.Heading(cell.Level, string(cell.Source))
		default:
			w.Blocks(string(cell.Source + cell.Text))
		}
		for _, data := range cell.Outputs {
			var output notebookOutput
			if err := wire.Unmarshal(data, &output); err != nil {
				r.leaveOut("an output of cell "+strconv.Itoa(i+1), err)
				continue
			}
			r.output(&w, output)
		}
	}
	return extracted{meta: m, body: guard.Must(w.Text())}
}

// output writes the richest form of an output that is text. Plain text that only names an object, like
// <IPython.core.display.HTML object>, is the poorest.
func (r *fileReader) output(w *markdown.Writer, o notebookOutput) {
	page := cmp.Or(o.Data["text/html"], o.HTML, o.Data["image/svg+xml"])
	latex := cmp.Or(o.Data["text/latex"], o.Latex)
	plain := string(cmp.Or(o.Data["text/plain"], o.Text))
	isName := plain == "" || strings.HasPrefix(plain, "<")
	switch shown := o.Data["text/markdown"]; {
	case o.Error != "" || o.Value != "":
		w.Code("", o.Error+": "+o.Value+"\n"+strings.Join(o.Traceback, "\n"))
	case shown != "":
		w.Blocks(string(shown))
	case isName && page != "":
		w.Blocks(r.page(string(page), nil).body)
	case isName && latex != "":
		w.Blocks(string(latex))
	case plain == "":
		w.Code("json", string(o.Data["application/json"]))
	default:
		w.Code("", plain)
	}
}

// cellText is a text of a notebook: a string or a list of lines. Anything else is kept as JSON.
type cellText string

// UnmarshalJSON implements json.Unmarshaler.
func (c *cellText) UnmarshalJSON(data []byte) error {
	var lines []string
	var text string
	if wire.Unmarshal(data, &lines) == nil {
		text = strings.Join(lines, "")
	} else if wire.Unmarshal(data, &text) != nil {
		text = string(data)
	}
	*c = cellText(text)
	return nil
}

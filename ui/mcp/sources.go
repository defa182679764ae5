package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"quarry/client"
	"quarry/client/field"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
)

// mostListed bounds each list of sources.
const mostListed = 100

// sourcesOutput is the structured content of sources.
type sourcesOutput struct {
	Sources      []source      `json:"sources"`
	DocumentSets []documentSet `json:"document_sets,omitempty"`
	Note         string        `json:"note,omitempty"`
}

type source struct {
	Source      string `json:"source" jsonschema:"what the sources argument of search takes"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Documents   *int   `json:"documents,omitempty" jsonschema:"that you may see, where the server counts them"`
}

type documentSet struct {
	Name        string `json:"name" jsonschema:"what the document_sets argument of search takes"`
	Description string `json:"description,omitempty"`
}

func sourcesTool() *sdk.Tool {
	return newTool("sources", "List sources",
		"Lists the sources and document sets that can be searched, with the values for the arguments of search. What "+
			"is not listed is not connected.", nil, nil)
}

func (s *session) sources(ctx context.Context, _ *sdk.CallToolRequest,
	_ struct{}) (string, sourcesOutput) {
	output := sourcesOutput{Sources: []source{}}
	list := guard.Must(s.Client.Sources(ctx))
	counts := s.Client.Counts(ctx, field.Source)
	for _, value := range list.Values[:min(len(list.Values), mostListed)] {
		row := source{Source: value, Name: wire.SourceName(value), Description: client.SourceDescription(value)}
		if counts != nil {
			row.Documents = new(counts[value])
		}
		output.Sources = append(output.Sources, row)
	}
	sets, _ := s.Client.DocumentSets(ctx) // a token that may not list them searches without
	for _, set := range sets[:min(len(sets), mostListed)] {
		output.DocumentSets = append(output.DocumentSets, documentSet{text.Shorten(text.OneLine(set.Name), maxName),
			text.Shorten(text.OneLine(text.OrEmpty(set.Description)), maxName)})
	}
	output.Note = map[string]string{
		"":                  "the token may not list sources; search without the sources argument",
		client.ListedForAll: "these sources are connected to the workspace; you may not have access to all",
		client.ListedByTags: "the token may not list connectors; these sources have tagged documents, there may be " +
			"more",
	}[list.Origin]
	return output.String(), output
}

// String lists the sources in the form of the rendered skill.
func (o sourcesOutput) String() string {
	var b strings.Builder
	for _, row := range o.Sources {
		fmt.Fprintf(&b, "- `%s` — %s", row.Source, strings.TrimSuffix(row.Name+": "+row.Description, ": "))
		if row.Documents != nil {
			fmt.Fprintf(&b, " (%s)", text.Count(*row.Documents, "document"))
		}
		b.WriteByte('\n')
	}
	if len(o.Sources) == 0 && o.Note == "" {
		b.WriteString("no sources can be searched\n")
	}
	if len(o.DocumentSets) > 0 {
		b.WriteString("\ndocument sets:\n")
	}
	for _, set := range o.DocumentSets {
		fmt.Fprintf(&b, "- `%s`", set.Name)
		if set.Description != "" {
			b.WriteString(" — " + set.Description)
		}
		b.WriteByte('\n')
	}
	if o.Note != "" {
		b.WriteString("note: " + o.Note + "\n")
	}
	return b.String()
}

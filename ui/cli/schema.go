package cli

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"
	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/config"
)

// schemaRow is a row of schema without a name.
type schemaRow struct {
	Name    string `json:"name" jsonschema:"argument of quarry schema"`
	Command string `json:"command" jsonschema:"that prints this JSON"`
}

func (a *app) schemaCommand() *cobra.Command {
	command := a.newCommand("schema [NAME…]", "Print the JSON Schema of an output", a.printSchema)
	command.ValidArgsFunction = func(_ *cobra.Command, words []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(words) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all := schemas()
		return exslices.CastFunc(slices.Sorted(maps.Keys(all)), func(name string) cobra.Completion {
			return cobra.CompletionWithDesc(name, all[name].Title)
		}), cobra.ShellCompDirectiveNoFileComp
	}
	return command
}

// printSchema prints the JSON Schema of an output, or lists the outputs.
func (a *app) printSchema(_ context.Context, words []string) error {
	all := schemas()
	names := slices.Sorted(maps.Keys(all))
	if len(words) == 0 {
		rows := exslices.CastFunc(names, func(name string) schemaRow { return schemaRow{name, all[name].Title} })
		return printList(a, "schemas", rows, "", true, table{header: []string{"NAME", "COMMAND"}},
			func(r schemaRow) []string { return []string{r.Name, r.Command} })
	}
	name := strings.Join(strings.Fields(strings.Join(words, " ")), "-") // also of a quoted command
	found := all[name]
	if found == nil {
		return unknownValue("schema", name, "quarry schema", names)
	}
	return a.printJSON(found)
}

// schemas returns the JSON Schema of each output, by the words of its command.
func schemas() map[string]*jsonschema.Schema {
	changes := []*jsonschema.Schema{lineOf(wire.LibraryProgress, progressEvent{}), lineOf(wire.LibrarySkipped, skippedEvent{}), lineOf(wire.LibraryLeftOut, skippedEvent{}),
		lineOf(wire.LibraryAssumed, assumedEvent{}), lineOf(wire.LibraryTaken, takenEvent{}), lineOf(wire.LibraryFormat, formatEvent{}), lineOf(wire.LibraryEmbedding, embeddingEvent{}),
		lineOf(wire.LibraryIndexing, indexingEvent{}), lineOf(wire.LibraryChecking, checkingEvent{}), lineOf(wire.LibraryRepaired, jsonDamage{}),
		lineOf(wire.LibraryDamaged, jsonDamage{}), lineOf(wire.LibraryDone, doneEvent{}), lineOf(lineStopped, stoppedEvent{})}
	result := schemaOf(resultLine{})
	join(result, schemaOf(foundResult{}))
	outputs := map[string][]*jsonschema.Schema{
		"search":        {schemaOf(searchOutput{}), schemaOf(searchesOutput{})},
		"search ndjson": {constant(result, lineResult), lineOf(lineError, errorLine{}), lineOf(lineSummary, summaryLine{})},
		"pick":          {schemaOf([]foundResult{})},
		"ask":           askSchemas(), "add": changes, "sync": changes, "remove": changes,
		"migrate": {lineOf(wire.LibraryCopying, copyingEvent{}), lineOf(wire.LibraryEmbedding, embeddingEvent{}),
			lineOf(wire.LibraryDone, movedEvent{}), lineOf(lineStopped, stoppedEvent{})},
		"read":       {schemaOf(readOutput{}), schemaOf(outlineOutput{}), schemaOf(readsOutput{})},
		"collection": {schemaOf(collectionOutput{})}, "sources": {schemaOf([]sourceRow{})}, "agents": {schemaOf([]agentRow{})},
		"document-sets": {schemaOf([]setRow{})}, "tags": {schemaOf([]tagRow{})}, "status": {schemaOf(statusOutput{})},
		"validate-config": {schemaOf(validateOutput{})}, "version": {schemaOf(versionOutput{})}, "schema": {schemaOf([]schemaRow{})},
		"config path": {schemaOf(pathOutput{})}, "config list": {schemaOf([]config.Setting{})}, "config get": {schemaOf(valueOutput{})},
		"admin user add": {schemaOf(wire.DirectoryUser{})}, "admin user list": {schemaOf([]wire.DirectoryUser{})},
		"admin group add": {schemaOf(wire.DirectoryGroup{})}, "admin group list": {schemaOf([]wire.DirectoryGroup{})},
		"install-skill": {schemaOf(filesOutput{})}, "skill render": {schemaOf(filesOutput{})},
		"admin token ensure": {schemaOf(sandboxOutput{})},
		"admin token add":    {schemaOf(wire.NewAccessToken{})}, "admin token list": {schemaOf([]wire.DirectoryToken{})},
		"admin connector add": {schemaOf(wire.DirectoryConnector{})}, "admin connector list": {schemaOf([]wire.DirectoryConnector{})},
		"admin agent add": {schemaOf(wire.DirectoryAgent{})}, "admin agent list": {schemaOf([]wire.DirectoryAgent{})},
		"admin document-set add": {schemaOf(wire.DirectorySet{})}, "admin document-set list": {schemaOf([]wire.DirectorySet{})},
		"admin tenant add": {schemaOf(wire.DirectoryTenant{})}, "admin tenant list": {schemaOf([]wire.DirectoryTenant{})},
		"admin tenant remove": {schemaOf(wire.DirectoryTenant{})},
	}
	unlisted := schemaOf(unlistedOutput{})
	for kind, item := range map[string]*jsonschema.Schema{"group": schemaOf(wire.DirectoryGroup{}), "token": schemaOf(wire.DirectoryToken{}),
		"connector": schemaOf(wire.DirectoryConnector{}), "agent": schemaOf(wire.DirectoryAgent{}), "document-set": schemaOf(wire.DirectorySet{})} {
		outputs["admin "+kind+" remove"] = []*jsonschema.Schema{item, unlisted}
	}
	for _, change := range []string{"remove", "activate", "deactivate"} {
		outputs["admin user "+change] = []*jsonschema.Schema{schemaOf(wire.DirectoryUser{}), unlisted}
	}
	found := map[string]*jsonschema.Schema{}
	for words, variants := range outputs {
		s := variants[0]
		if len(variants) > 1 {
			s = &jsonschema.Schema{OneOf: variants}
		}
		s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", "quarry "+words+" --json"
		if title := map[string]string{"search ndjson": "quarry search --format ndjson", "pick": "quarry --pick -o json"}[words]; title != "" {
			s.Title = title
		}
		if variants[0].Properties["type"] != nil {
			s.Description = "One line of the output."
		}
		found[strings.ReplaceAll(words, " ", "-")] = s
	}
	return found
}

// askSchemas describe the lines of ask. Events of the server's own have fields that quarry passes on as they are.
func askSchemas() (lines []*jsonschema.Schema) {
	event := func(kind string, s *jsonschema.Schema) {
		line := lineOf(kind, askLine{})
		line.Properties["event"] = s
		lines = append(lines, line)
	}
	event(wire.ChatSessionCreated, schemaOf(createdEvent{}))
	event(wire.ChatMessageIDs, schemaOf(messagesEvent{}))
	fields := inferred(struct {
		wire.ChatObject
		IsInternet bool     `json:"is_internet_search"`
		Seconds    *float64 `json:"pre_answer_processing_seconds"`
	}{}).Properties
	fields["documents"].Items.AdditionalProperties = nil
	known := map[string][]string{
		wire.ChatSearchStart: {"is_internet_search"}, wire.ChatSearchQueries: {"queries"}, wire.ChatSearchFilters: {"sources", "time_filter_start", "time_filter_end"},
		wire.ChatSearchDocuments: {"documents"}, wire.ChatMessageStart: {"documents", "pre_answer_processing_seconds"}, wire.ChatMessageDelta: {"content"},
		wire.ChatCitation: {"citation_number", "document_id"}, wire.ChatReasoningDelta: {"reasoning"}, wire.ChatStop: {"stop_reason"},
	}
	for _, kind := range knownPackets() {
		passed := schemaOf(struct {
			Placement *wire.ChatPlacement `json:"placement" jsonschema:"place of the event in the answer"`
		}{})
		passed.AdditionalProperties, passed.Description = nil, "The server's event. Events of newer servers may have further keys."
		for _, name := range known[kind] {
			passed.Properties[name] = fields[name].CloneSchemas()
			passed.PropertyOrder = append(passed.PropertyOrder, name)
		}
		if kind == wire.ChatError {
			passed = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{schemaOf(failureEvent{}), passed}}
		}
		event(kind, passed)
	}
	event(lineUnknown, schemaOf(unknownEvent{}))
	event(lineSummary, schemaOf(answerEvent{}))
	return lines
}

// lineOf describes a line of a type.
func lineOf(kind string, value any) *jsonschema.Schema { return constant(schemaOf(value), kind) }

func constant(s *jsonschema.Schema, kind string) *jsonschema.Schema {
	s.Properties["type"] = &jsonschema.Schema{Const: jsonschema.Ptr[any](kind)}
	return s
}

// join adds the properties of another schema.
func join(s, more *jsonschema.Schema) {
	maps.Copy(s.Properties, more.Properties)
	s.Required, s.PropertyOrder = append(s.Required, more.Required...), append(s.PropertyOrder, more.PropertyOrder...)
}

// schemaOf describes what encodeJSON makes of a value: its keys and no others.
func schemaOf(value any) *jsonschema.Schema {
	s := inferred(value)
	withoutNull(s)
	return s
}

func inferred(value any) *jsonschema.Schema {
	text := &jsonschema.Schema{Type: "string"}
	options := jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[wire.Metadata]():   {Types: []string{"string", "array"}, Items: text},
		reflect.TypeFor[json.RawMessage](): {},
	}}
	if reflect.TypeOf(value) == reflect.TypeFor[readsOutput]() {
		options.TypeSchemas[reflect.TypeFor[readEntry]()] = &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			schemaOf(readDocument{}), schemaOf(readOutline{}), schemaOf(failedRead{})}}
	}
	s, err := jsonschema.ForType(reflect.TypeOf(value), &options)
	if err != nil {
		panic(err) // a type that JSON cannot have: a mistake in the program
	}
	return s
}

// withoutNull removes null where encodeJSON never writes it: lists are empty instead, and optional keys are left out.
func withoutNull(s *jsonschema.Schema) {
	if slices.Equal(s.Types, []string{"null", "array"}) && !strings.Contains(s.Description, "null") {
		s.Types, s.Type = nil, "array"
	}
	for name, property := range s.Properties {
		if !slices.Contains(s.Required, name) && len(property.Types) == 2 && property.Types[0] == "null" {
			property.Type, property.Types = property.Types[1], nil
		}
		if property.Const == nil && name == "schema" && property.Type == "integer" {
			property.Const = jsonschema.Ptr[any](schemaVersion)
		}
		withoutNull(property)
	}
	for _, part := range append([]*jsonschema.Schema{s.Items, s.AdditionalProperties}, s.OneOf...) {
		if part != nil {
			withoutNull(part)
		}
	}
}

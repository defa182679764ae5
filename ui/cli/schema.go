package cli

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"
	"go.mau.fi/util/exerrors"
	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/ui/state"
)

// schemaRow is a row of schema without a name.
type schemaRow struct {
	Name    string `json:"name" jsonschema:"argument of quarry schema"`
	Command string `json:"command" jsonschema:"that prints this JSON"`
}

func (a *app) schemaCommand() *cobra.Command {
	return a.newCommand("schema [NAME…]", "Print the JSON Schema of an output",
		traits{class: reads, guests: true, arguments: a.offerSchemas, json: prints([]schemaRow{})}, a.printSchema)
}

func (a *app) offerSchemas(command *cobra.Command, words []string,
	_ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(words) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return exslices.CastFunc(a.outputs(command.Root()), func(o output) cobra.Completion {
		return cobra.CompletionWithDesc(o.name, o.command)
	}), cobra.ShellCompDirectiveNoFileComp
}

// printSchema prints the JSON Schema of an output, or lists the outputs.
func (a *app) printSchema(_ context.Context, words []string) {
	all := a.outputs(a.command.Root())
	if len(words) == 0 {
		rows := exslices.CastFunc(all, func(o output) schemaRow { return schemaRow{o.name, o.command} })
		printList(a, "schemas", rows, "", table{header: []string{"NAME", "COMMAND"}},
			func(r schemaRow) []string { return []string{r.Name, r.Command} })
		return
	}
	name := strings.Join(strings.Fields(strings.Join(words, " ")), "-") // also of a quoted command
	for _, o := range all {
		if o.name == name {
			a.printJSON(o.schema())
			return
		}
	}
	refuseValue("schema", name, "quarry schema",
		exslices.CastFunc(all, func(o output) string { return o.name }))
}

// output is JSON that a command prints.
type output struct {
	name    string // the words of the command
	command string
	types   func() []*jsonschema.Schema
}

// outputs lists the JSON of all commands, by name.
func (a *app) outputs(root *cobra.Command) []output {
	all := []output{
		{"pick", "quarry --pick -o json", prints([]foundResult{})},
		{"search-ndjson", "quarry search --format ndjson", resultSchemas},
	}
	for command := range commandsBelow(root) {
		if types := a.traits[command].json; types != nil {
			all = append(all,
				output{strings.ReplaceAll(commandPath(command), " ", "-"), command.CommandPath() + " --json", types})
		}
	}
	slices.SortFunc(all, func(a, b output) int { return strings.Compare(a.name, b.name) })
	return all
}

// schema describes the output, or one line of output that comes in lines.
func (o output) schema() *jsonschema.Schema {
	variants := o.types()
	s := variants[0]
	if len(variants) > 1 {
		s = &jsonschema.Schema{OneOf: variants}
	}
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", o.command
	if variants[0].Properties["type"] != nil {
		s.Description = "One line of the output."
	}
	return s
}

// prints returns the types of an output from a value of each.
func prints(values ...any) func() []*jsonschema.Schema {
	return func() []*jsonschema.Schema { return exslices.CastFunc(values, schemaOf) }
}

// changeSchemas describe the lines of the commands that change the library.
func changeSchemas() []*jsonschema.Schema {
	return eventSchemas(doneEvent{}, wire.LibraryProgress, wire.LibrarySkipped, wire.LibraryLeftOut,
		wire.LibraryAssumed, wire.LibraryTaken, wire.LibraryFormat, wire.LibraryEmbedding, wire.LibraryIndexing,
		wire.LibraryChecking, wire.LibraryRepaired, wire.LibraryDamaged)
}

func migrateSchemas() []*jsonschema.Schema {
	return eventSchemas(movedEvent{}, wire.LibraryCopying, wire.LibraryEmbedding)
}

// eventSchemas describe the lines of events, and the last line, of a change that ended or was stopped.
func eventSchemas(done any, kinds ...string) []*jsonschema.Schema {
	lines := exslices.CastFunc(kinds, func(kind string) *jsonschema.Schema {
		if keys, known := eventLines()[kind]; known {
			return lineOf(kind, reflect.Zero(keys.Type()).Interface())
		}
		return lineOf(kind, jsonDamage{})
	})
	return append(lines, lineOf(wire.LibraryDone, done), lineOf(lineStopped, stoppedEvent{}))
}

// resultSchemas describe the lines of search --format ndjson.
func resultSchemas() []*jsonschema.Schema {
	result, found := schemaOf(resultLine{}), profileSchemas()[reflect.TypeFor[foundResult]()].CloneSchemas()
	withoutNull(found)
	maps.Copy(result.Properties, found.Properties)
	result.Required, result.PropertyOrder = append(result.Required, found.Required...),
		append(result.PropertyOrder, found.PropertyOrder...)
	return []*jsonschema.Schema{constant(result, lineResult), lineOf(lineError, errorLine{}),
		lineOf(lineSummary, summaryLine{})}
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
		wire.ChatSearchStart: {"is_internet_search"}, wire.ChatSearchQueries: {"queries"},
		wire.ChatSearchFilters:   {"sources", "time_filter_start", "time_filter_end"},
		wire.ChatSearchDocuments: {"documents"}, wire.ChatMessageStart: {"documents", "pre_answer_processing_seconds"},
		wire.ChatMessageDelta: {"content"},
		wire.ChatCitation:     {"citation_number", "document_id"}, wire.ChatReasoningDelta: {"reasoning"},
		wire.ChatStop: {"stop_reason"},
	}
	for _, kind := range knownPackets() {
		passed := schemaOf(struct {
			Placement *wire.ChatPlacement `json:"placement" jsonschema:"place of the event in the answer"`
		}{})
		passed.AdditionalProperties, passed.Description = nil,
			"The server's event. Events of newer servers may have further keys."
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

// schemaOf describes what encodeJSON makes of a value: its keys and no others.
func schemaOf(value any) *jsonschema.Schema {
	s := inferred(value)
	withoutNull(s)
	return s
}

func inferred(value any) *jsonschema.Schema {
	known := profileSchemas()
	if reflect.TypeOf(value) == reflect.TypeFor[readsOutput]() {
		known = maps.Clone(known)
		known[reflect.TypeFor[readEntry]()] = &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			schemaOf(readDocument{}), schemaOf(readOutline{}), schemaOf(failedRead{})}}
	}
	return inferredType(reflect.TypeOf(value), known)
}

// profileSchemas returns the schemas of the types that are written otherwise than by their fields.
var profileSchemas = sync.OnceValue(func() map[reflect.Type]*jsonschema.Schema {
	text := &jsonschema.Schema{Type: "string"}
	known := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[wire.Metadata]():   {Types: []string{"string", "array"}, Items: text},
		reflect.TypeFor[json.RawMessage](): {},
	}
	result := inferredType(wire.FullResult.Type(), known)
	result.Required = inferredType(wire.BasicResult.Type(), known).Required // of which a bare Onyx sends no others
	known[reflect.TypeFor[foundResult]()] = result
	for profiled, t := range map[reflect.Type]reflect.Type{
		reflect.TypeFor[askSource]():             wire.CitedResult.Type(),
		reflect.TypeFor[state.ExportedPassage](): state.ExportedType(),
		reflect.TypeFor[documentHead]():          headProfile.Type(),
		reflect.TypeFor[outlinedHead]():          outlineProfile.Type(),
		reflect.TypeFor[readChunk]():             chunkProfile.Type(),
	} {
		known[profiled] = inferredType(t, known)
	}
	return known
})

func inferredType(t reflect.Type, known map[reflect.Type]*jsonschema.Schema) *jsonschema.Schema {
	return exerrors.Must(jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: known})) // JSON has each of them
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

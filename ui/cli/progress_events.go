package cli

import (
	"reflect"

	"quarry/client/wire"
)

// eventLines returns the line of each type of event, whose fields are those of the event with these names.
func eventLines() map[string]any {
	return map[string]any{wire.LibraryProgress: progressEvent{}, wire.LibrarySkipped: skippedEvent{}, wire.LibraryLeftOut: skippedEvent{},
		wire.LibraryAssumed: assumedEvent{}, wire.LibraryTaken: takenEvent{}, wire.LibraryFormat: formatEvent{},
		wire.LibraryEmbedding: embeddingEvent{}, wire.LibraryIndexing: indexingEvent{}, wire.LibraryChecking: checkingEvent{},
		wire.LibraryCopying: copyingEvent{}, wire.LibraryRepaired: jsonDamage{}, wire.LibraryDamaged: jsonDamage{}}
}

// The lines of NDJSON.

type progressEvent struct {
	Type       string `json:"type"`
	Done       int    `json:"done" jsonschema:"files"`
	Total      int    `json:"total" jsonschema:"files; 0 until it is known"`
	Bytes      int64  `json:"bytes" jsonschema:"read so far"`
	Path       string `json:"path"`
	TotalBytes int64  `json:"total_bytes,omitempty"`
}

type skippedEvent struct {
	Type   string `json:"type"`
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

type assumedEvent struct {
	Type     string `json:"type"`
	Path     string `json:"path"`
	Encoding string `json:"encoding" jsonschema:"assumed, such as windows-1252, because the text is not UTF-8 and declares none"`
}

type takenEvent struct {
	Type string `json:"type"`
	Path string `json:"path" jsonschema:"of a folder or archive"`
	Kind string `json:"kind" jsonschema:"what it was taken for, such as Slack export"`
}

type formatEvent struct {
	Type      string `json:"type"`
	Kind      string `json:"kind" jsonschema:"type of the documents, such as md; of skipped files their extension"`
	Added     int    `json:"added" jsonschema:"documents, as the next keys"`
	Updated   int    `json:"updated"`
	Removed   int    `json:"removed"`
	Unchanged int    `json:"unchanged"`
	Skipped   int    `json:"skipped" jsonschema:"files"`
}

type embeddingEvent struct {
	Type    string `json:"type"`
	Done    int    `json:"done" jsonschema:"passages with a vector"`
	Total   int    `json:"total" jsonschema:"passages"`
	Refused int    `json:"refused,omitempty" jsonschema:"passages that the model rejected"`

	SecondsLeft int    `json:"seconds_left,omitempty" jsonschema:"until all have one"`
	Reason      string `json:"reason,omitempty" jsonschema:"why passages have no vector"`
}

type indexingEvent struct {
	Type   string `json:"type"`
	Done   int    `json:"done" jsonschema:"changes of documents that searches find"`
	Total  int    `json:"total" jsonschema:"changes of documents that are stored"`
	Reason string `json:"reason,omitempty" jsonschema:"why the engine does not have all"`
}

type checkingEvent struct {
	Type  string `json:"type"`
	Done  int    `json:"done" jsonschema:"documents"`
	Total int    `json:"total" jsonschema:"documents"`
}

type doneEvent struct {
	Type         string       `json:"type"`
	Added        int          `json:"added" jsonschema:"documents, as the next keys"`
	Updated      int          `json:"updated"`
	Removed      int          `json:"removed"`
	Unchanged    int          `json:"unchanged"`
	Skipped      int          `json:"skipped" jsonschema:"files"`
	Repaired     int          `json:"repaired,omitempty"`
	Damaged      int          `json:"damaged,omitempty"`
	LeftOut      wire.LeftOut `json:"left_out,omitzero" jsonschema:"content of the added folders that is not read"`
	DryRun       bool         `json:"dry_run,omitempty" jsonschema:"nothing was stored"`
	SearchesGoTo string       `json:"searches_go_to,omitempty" jsonschema:"profile of the next search"`
}

type stoppedEvent struct {
	Type string `json:"type"`
	Done int    `json:"done" jsonschema:"files stored, or documents removed"`
}

const lineStopped = "stopped"

// jsonDamage is something that was damaged: an entry of status --check, and a line of sync.
type jsonDamage struct {
	Type   string `json:"type" jsonschema:"damaged or repaired"`
	ID     string `json:"id,omitempty" jsonschema:"of the document"`
	Path   string `json:"path,omitempty"`
	Reason string `json:"reason"`
	Hint   string `json:"hint,omitempty" jsonschema:"what to do about damage"`
}

// jsonCheck is what status --check found.
type jsonCheck struct {
	Documents int          `json:"documents" jsonschema:"checked"`
	Repaired  int          `json:"repaired"`
	Damaged   int          `json:"damaged"`
	Found     []jsonDamage `json:"found" jsonschema:"the first 1,000"`
}

// line prints the keys that lines of the event's type have.
func (p *progress) line(e wire.LibraryEvent) {
	switch template := eventLines()[e.Type].(type) {
	case nil:
	case jsonDamage:
		p.write(p.app.damageOf(e, true))
	default:
		line, from := reflect.New(reflect.TypeOf(template)).Elem(), reflect.ValueOf(e)
		for i := range line.NumField() {
			line.Field(i).Set(from.FieldByName(line.Type().Field(i).Name))
		}
		p.write(line.Interface())
	}
}

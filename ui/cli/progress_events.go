package cli

import (
	"sync"

	"quarry/client/wire"
)

// eventLines returns what the lines of NDJSON have of the events of each type. Those about damage are a jsonDamage.
var eventLines = sync.OnceValue(func() map[string]wire.Profile[wire.LibraryEvent] {
	line := func(keys string) wire.Profile[wire.LibraryEvent] {
		return wire.NewProfile[wire.LibraryEvent]("type " + keys)
	}
	skipped := line(`path reason`)
	return map[string]wire.Profile[wire.LibraryEvent]{
		wire.LibraryProgress: line(`done(files) total(files; 0 until it is known) bytes(read so far) path
			total_bytes?`),
		wire.LibrarySkipped: skipped, wire.LibraryLeftOut: skipped,
		wire.LibraryAssumed: line(`path
			encoding(assumed, such as windows-1252, because the text is not UTF-8 and declares none)`),
		wire.LibraryTaken: line(`path(of a folder or archive) kind(what it was taken for, such as Slack export)`),
		wire.LibraryFormat: line(`kind(type of the documents, such as md; of skipped files their extension)
			added(documents, as the next keys) updated removed unchanged skipped(files)`),
		wire.LibraryEmbedding: line(`done(passages with a vector) total(passages)
			refused?(passages that the model rejected) seconds_left?(until all have one)
			reason?(why passages have no vector)`),
		wire.LibraryIndexing: line(`done(changes of documents that searches find)
			total(changes of documents that are stored) reason?(why the engine does not have all)`),
		wire.LibraryChecking: line(`done(documents) total(documents)`),
		wire.LibraryCopying: line(`tenant done(documents, or tenants if documents are not copied)
			total(documents, or tenants if documents are not copied)`),
	}
})

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
	if e.Type == wire.LibraryRepaired || e.Type == wire.LibraryDamaged {
		p.write(p.app.damageOf(e, true))
	} else if keys, known := eventLines()[e.Type]; known {
		p.write(keys.Of(&e))
	}
}

package wire

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Error codes of a library, for its owner in this process.
const (
	CodeDiskFull          = "DISK_FULL"
	CodeLibraryNewer      = "LIBRARY_NEWER"
	CodeNetworkFileSystem = "NETWORK_FILE_SYSTEM"
	CodeLibraryReadOnly   = "LIBRARY_READ_ONLY"
	CodeLibraryOlder      = "LIBRARY_OLDER"
	CodeLibraryBusy       = "LIBRARY_BUSY"
	CodeDatabaseFailed    = "DATABASE_UNAVAILABLE"
	CodeIndexBehind       = "INDEX_BEHIND"
	CodeEngineFailed      = "ENGINE_UNAVAILABLE"
	CodeLibraryDamaged    = "LIBRARY_DAMAGED"
	CodeLibraryLost       = "LIBRARY_LOST"
	CodeDocumentDamaged   = "DOCUMENT_DAMAGED"
	CodeSecretKeyMissing  = "SECRET_KEY_MISSING"
	CodeSecretKeyWrong    = "SECRET_KEY_WRONG"
	CodeTenantNotEmpty    = "TENANT_NOT_EMPTY"
	CodeTargetInUse       = "TARGET_IN_USE"
	CodeLibraryChanging   = "LIBRARY_CHANGING"
	CodeCopyDiffers       = "COPY_DIFFERS"
)

// IsURL reports whether a path to add or synchronise is an address on the web.
func IsURL(path string) bool {
	scheme, _, found := strings.Cut(path, "://")
	return found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// AddRequest is the body of POST /library/add: Paths, which are absolute or on the web, or one document with its Title
// and Content.
type AddRequest struct {
	Paths []string `json:"paths"`
	As    string   `json:"as,omitempty"`
	Set   string   `json:"set,omitempty"`
	// Name is the short name of the one path that is added; empty: as before, else that of its repository or folder.
	Name string `json:"name,omitempty"`
	// Include are patterns of files that are read although they look like secrets.
	Include []string `json:"include,omitempty"`
	// Title names the document in Content, of at most MaxContent bytes, whose format is found by its content.
	Title   string `json:"title,omitempty"`
	Content []byte `json:"content,omitempty"`
	// DryRun reads everything and reports what would change, also by format, and stores nothing.
	DryRun bool `json:"dry_run,omitempty"`
}

// MaxContent bounds the Content of an AddRequest, in bytes.
const MaxContent = 32 << 20

// SyncRequest is the body of POST /library/sync; without paths every root is synchronised.
type SyncRequest struct {
	Paths []string `json:"paths,omitempty"`
	// FilesOnly leaves out what is on the web, if Paths is empty.
	FilesOnly bool `json:"files_only,omitempty"`
	// Check is how much of the library is checked for damage and repaired: CheckPart, the default, CheckFull or
	// CheckNone.
	Check string `json:"check,omitempty"`
	// Meaning makes all missing vectors, however long that takes.
	Meaning bool `json:"meaning,omitempty"`
}

// How much of a library is checked for damage.
const (
	CheckPart = "part" // of a large library; all of a small one
	CheckFull = "full"
	CheckNone = "none"
)

// CheckRequest is the body of POST /library/check, which checks all of the library. Repair rebuilds
// what can be derived from other stored data; POST /library/sync restores damaged documents.
type CheckRequest struct {
	Repair bool `json:"repair,omitempty"`
}

// MigrateRequest is the body of POST /library/migrate.
type MigrateRequest struct {
	To     string `json:"to"` // EngineWeaviate or EnginePostgres
	DryRun bool   `json:"dry_run,omitempty"`
}

// What a library can be copied to.
const (
	EngineWeaviate = "weaviate" // with a database, people and conversations too
	EnginePostgres = "postgres" // all but documents, or those too if this is the engine
)

// Engines lists what a library can be copied to.
func Engines() []string { return []string{EngineWeaviate, EnginePostgres} }

// Migration is what was copied, of all tenants.
type Migration struct {
	Engine    string `json:"engine" jsonschema:"weaviate or postgres"`
	DryRun    bool   `json:"dry_run,omitempty" jsonschema:"nothing was stored"`
	Tenants   int    `json:"tenants"`
	Directory int    `json:"directory" jsonschema:"entries about people, tokens, connectors, document sets and agents"`
	Chats     int    `json:"chats" jsonschema:"conversations, messages and attached files"`
	// Kept are the parts of the database that are in use there and stayed as they are.
	Kept      []string `json:"kept,omitempty" jsonschema:"directory or chats: in use there, not copied"`
	Documents int      `json:"documents,omitempty" jsonschema:"of the new engine"`
	Passages  int      `json:"passages,omitempty" jsonschema:"of the new engine"`
	Resumed   bool     `json:"resumed,omitempty" jsonschema:"an interrupted copy was continued"`
	// What searches for sampled documents found in both engines.
	Queries       int     `json:"queries,omitempty" jsonschema:"searches that were compared"`
	Found         int     `json:"found,omitempty" jsonschema:"of them, with it in the new engine's first 10 results"`
	FoundBefore   int     `json:"found_before,omitempty" jsonschema:"likewise of the old engine"`
	SameFirst     int     `json:"same_first,omitempty" jsonschema:"of them, with the same first result"`
	SharedResults float64 `json:"shared_results,omitempty" jsonschema:"part of the first 10 results in both, 0 to 1"`
}

// DefaultTenant is the tenant that every library has.
const DefaultTenant = "default"

// RemoveRequest is the body of POST /library/remove. Refs are paths or document ids; Source and Set remove the
// documents of a source or document set.
type RemoveRequest struct {
	Refs   []string `json:"refs"`
	Source string   `json:"source,omitempty"`
	Set    string   `json:"set,omitempty"`
}

// LibraryRequest changes or checks a library.
type LibraryRequest interface {
	// Route returns the path that it is posted to.
	Route() string
}

// Route implements LibraryRequest.
func (AddRequest) Route() string { return "/library/add" }

// Route implements LibraryRequest.
func (SyncRequest) Route() string { return "/library/sync" }

// Route implements LibraryRequest.
func (RemoveRequest) Route() string { return "/library/remove" }

// Route implements LibraryRequest.
func (CheckRequest) Route() string { return "/library/check" }

// Route implements LibraryRequest.
func (MigrateRequest) Route() string { return "/library/migrate" }

// LibraryEvent is one line of the answer of the /library routes that write or check. Type is progress, skipped,
// left_out, assumed, taken, format, embedding, indexing, checking, copying, damaged, repaired, done or error; done or
// error comes last, exactly once. Files that a progress line counts as done are stored durably.
type LibraryEvent struct {
	Type string `json:"type"`

	// Of progress. Total is 0 until it is known. Of indexing, Done and Total are changes of documents that are
	// stored, of checking documents, of copying documents, or tenants.
	Done  int   `json:"done,omitempty"`  // files
	Total int   `json:"total,omitempty"` // files
	Bytes int64 `json:"bytes,omitempty"` // read so far
	// TotalBytes is the size of the files to read; unchanged files are not among them.
	TotalBytes int64  `json:"total_bytes,omitempty"`
	Path       string `json:"path,omitempty"`
	// Stored is the number of finished files with documents in the library; skipped ones have none.
	Stored int `json:"stored,omitempty"`

	// Of embedding, whose Done and Total are passages that have vectors: those that the model does not take.
	Refused int `json:"refused,omitempty"`
	// Of embedding: about how long the rest takes; 0: unknown.
	SecondsLeft int `json:"seconds_left,omitempty"`

	Encoding string `json:"encoding,omitempty"` // of assumed: the assumed encoding of the file at Path

	// Of taken: what the folder or archive at Path was taken for, such as Slack export. Of format: the documents' type.
	Kind string `json:"kind,omitempty"`

	// Of damaged and repaired: the document, if it is one, and Path the file that it was read from.
	ID string `json:"id,omitempty"`

	// Of damaged and repaired: what is wrong. Of skipped; of left_out: the part, and why; of embedding: why it stopped
	// before all had a vector, or why the model does not take some; of indexing: why the engine does not have all.
	Reason string `json:"reason,omitempty"`

	// Of done, in documents; Skipped in files. Of format, in a dry run, those of one type.
	Added     int `json:"added"`
	Updated   int `json:"updated"`
	Removed   int `json:"removed"`
	Unchanged int `json:"unchanged"`
	Skipped   int `json:"skipped"`
	// Of done: how many documents were repaired, and how many are still damaged.
	Repaired int `json:"repaired,omitempty"`
	Damaged  int `json:"damaged,omitempty"`
	// Of done: what folders contain that is not read.
	LeftOut LeftOut `json:"left_out,omitzero"`

	Tenant   string     `json:"tenant,omitempty"`   // of copying
	Migrated *Migration `json:"migrated,omitempty"` // of done, if the library was moved

	ErrorCode string `json:"error_code,omitempty"`
	Detail    string `json:"detail,omitempty"` // of error
}

// LeftOut counts what was left out of folders. The content of a folder that was left out is not counted.
type LeftOut struct {
	IgnoredFiles   int `json:"ignored_files,omitempty" jsonschema:"by .gitignore and .quarryignore"`
	IgnoredFolders int `json:"ignored_folders,omitempty" jsonschema:"also node_modules and folders of version control"`
	HiddenFiles    int `json:"hidden_files,omitempty" jsonschema:"names that begin with a dot"`
	HiddenFolders  int `json:"hidden_folders,omitempty"`
	Links          int `json:"links,omitempty" jsonschema:"within the folder; other links are skipped files"`
	Parts          int `json:"parts,omitempty" jsonschema:"unreadable parts of files, such as a damaged attachment"`
	Secret         int `json:"secret,omitempty" jsonschema:"private keys, tokens, password stores; also skipped files"`
	Generated      int `json:"generated,omitempty" jsonschema:"written by programs for programs, also skipped files"`
}

// Add adds the counts of another folder.
func (l *LeftOut) Add(other LeftOut) {
	l.IgnoredFiles += other.IgnoredFiles
	l.IgnoredFolders += other.IgnoredFolders
	l.HiddenFiles += other.HiddenFiles
	l.HiddenFolders += other.HiddenFolders
	l.Links += other.Links
	l.Parts += other.Parts
	l.Secret += other.Secret
	l.Generated += other.Generated
}

// MarshalJSON writes only the fields of the event's type, including zero values.
func (e LibraryEvent) MarshalJSON() ([]byte, error) {
	type whole LibraryEvent
	if e.Type == LibraryDone || e.Type == LibraryFormat {
		return json.Marshal(whole(e))
	}
	part := struct {
		whole
		Done      *int   `json:"done,omitempty"`
		Total     *int   `json:"total,omitempty"`
		Bytes     *int64 `json:"bytes,omitempty"`
		Added     *int   `json:"added,omitempty"`
		Updated   *int   `json:"updated,omitempty"`
		Removed   *int   `json:"removed,omitempty"`
		Unchanged *int   `json:"unchanged,omitempty"`
		Skipped   *int   `json:"skipped,omitempty"`
	}{whole: whole(e)}
	switch e.Type {
	case LibraryProgress:
		part.Done, part.Total, part.Bytes = &e.Done, &e.Total, &e.Bytes
	case LibraryEmbedding, LibraryIndexing, LibraryChecking, LibraryCopying:
		part.Done, part.Total = &e.Done, &e.Total
	}
	return json.Marshal(part)
}

// The types of library events.
const (
	LibraryProgress  = "progress"
	LibrarySkipped   = "skipped"
	LibraryLeftOut   = "left_out" // a part of a document could not be read; the rest is stored
	LibraryAssumed   = "assumed"
	LibraryTaken     = "taken"
	LibraryFormat    = "format"
	LibraryEmbedding = "embedding"
	LibraryIndexing  = "indexing"
	LibraryChecking  = "checking"
	LibraryCopying   = "copying"
	LibraryDamaged   = "damaged"
	LibraryRepaired  = "repaired"
	LibraryDone      = "done"
	LibraryError     = "error"
)

// LibraryStatus is the answer of GET /library/status.
type LibraryStatus struct {
	Roots     []LibraryRoot `json:"roots"`
	Documents int           `json:"documents"`
	Chunks    int           `json:"chunks"`
	Bytes     int64         `json:"bytes" jsonschema:"on disk"`
	Version   string        `json:"version" jsonschema:"changes with every commit"`
	Path      string        `json:"path" jsonschema:"folder of the library; empty in memory"`
	// Assumed are the files whose encoding was found out, and Skipped those that were read and hold what is not stored:
	// of each the first MaxStatusFiles by path, and their number.
	Assumed      []AssumedFile `json:"assumed" jsonschema:"files with an assumed encoding, the first 50"`
	AssumedFiles int           `json:"assumed_files"`
	Skipped      []SkippedFile `json:"skipped" jsonschema:"files with content that is not stored, the first 50"`
	SkippedFiles int           `json:"skipped_files"`
	// SkippedTypes are the files that no format reads, which are not among Skipped, as of the last sync of each root.
	SkippedTypes []SkippedType `json:"skipped_types" jsonschema:"files of other types, the most frequent first"`
	// Taken are the folders and archives that were taken for an export of another program, likewise.
	Taken        []TakenFolder `json:"taken"`
	TakenFolders int           `json:"taken_folders"`
	// LeftOut is what the added folders contain that is not read, as of the last sync of each.
	LeftOut LeftOut `json:"left_out,omitzero"`
	// Vectors is how many chunks can be found by vector, as VectorModel gave it; absent without one.
	Vectors     int     `json:"vectors,omitempty" jsonschema:"passages with a vector"`
	VectorModel string  `json:"vector_model,omitempty"`
	Meaning     Meaning `json:"meaning"`
	// Database is the server with the people, tokens and conversations; absent if they are in files.
	Database string `json:"database,omitempty" jsonschema:"PostgreSQL database of people, tokens and conversations"`
	// Engine is where documents are and what indexes them; absent for the embedded engine.
	Engine string `json:"engine,omitempty" jsonschema:"the engine, if it is not the embedded one"`
	// EngineProblem is what is wrong with it; absent if nothing is.
	EngineProblem string `json:"engine_problem,omitempty" jsonschema:"why it, or a host of it, is not available"`
	// VectorsRefused is how many texts that model does not take.
	VectorsRefused int `json:"vectors_refused,omitempty" jsonschema:"passages that the model rejected"`
	// UnindexedDocuments is how many documents the engine does not take, or not all of them; Unindexed are the first
	// MaxReasons.
	UnindexedDocuments int `json:"unindexed_documents,omitempty" jsonschema:"documents that the engine rejected"`

	Unindexed []UnindexedDocument `json:"unindexed,omitempty" jsonschema:"the first 10 of them, by id"`
}

// Meaning is how far the vectors of a library are, by the model that makes them now.
type Meaning struct {
	State       string `json:"state" jsonschema:"off, waiting, running or complete"`
	Model       string `json:"model"`
	Done        int    `json:"done" jsonschema:"passages with a vector"`
	Total       int    `json:"total" jsonschema:"passages"`
	SecondsLeft int    `json:"seconds_left" jsonschema:"0 if unknown"`
}

// The values of Meaning.State.
const (
	MeaningOff      = "off"
	MeaningWaiting  = "waiting" // until somebody has the library open, or for quarry sync --meaning
	MeaningRunning  = "running"
	MeaningComplete = "complete"
)

// UnindexedDocument is a document that the engine does not take, or not all of it.
type UnindexedDocument struct {
	ID     string `json:"document_id"`
	Reason string `json:"reason" jsonschema:"given by the engine"`
}

// ModelStatus answers GET /library/model: the default language model, and the tokens that models used today (UTC). They
// are counted where there is a budget.
type ModelStatus struct {
	Model       string `json:"model"` // provider/model; empty: none
	TokensToday int    `json:"tokens_today"`
	Budget      int    `json:"budget"` // tokens per day; 0: no limit
}

// ModelTest answers POST /library/model: what one call of the default model found, or which models its provider has.
type ModelTest struct {
	Model  string   `json:"model"`  // that replied
	Models []string `json:"models"` // of the provider, where no default model is configured
	Tokens int      `json:"tokens"` // that the call used
	MS     float64  `json:"ms"`
	// Problem is why there was no reply, one of the values of Model…; empty: there was one. Detail has the server's
	// reason.
	Problem string `json:"problem"`
	Detail  string `json:"detail"`
}

// The values of ModelTest.Problem.
const (
	ModelUnreachable = "unreachable"
	ModelTimeout     = "timeout"
	ModelKey         = "key"     // missing or wrong
	ModelUnknown     = "unknown" // no such address or model
	ModelRefused     = "refused"
	ModelBusy        = "busy"
	ModelUnusable    = "unusable" // the reply is none of this API
	ModelBudget      = "budget"   // today's tokens are used up, or cannot be counted
)

// MaxStatusFiles bounds the lists of files in LibraryStatus.
const MaxStatusFiles = 50

// AssumedFile is a file whose text was converted from an encoding that it does not declare.
type AssumedFile struct {
	Path     string `json:"path"`
	Encoding string `json:"encoding"`
}

// TakenFolder is a folder or archive whose files are read together.
type TakenFolder struct {
	Path string `json:"path"`
	Kind string `json:"kind"` // such as Slack export
}

// SkippedFile is a file that is not stored, or not all of it.
type SkippedFile struct {
	Path   string `json:"path"`
	Reason string `json:"reason" jsonschema:"of the first line, where only lines are skipped"`
}

// SkippedType is an extension that no format reads.
type SkippedType struct {
	Type  string `json:"type" jsonschema:"extension, or other"`
	Files int    `json:"files"`
}

// LibraryFile is the answer of GET /library/file.
type LibraryFile struct {
	Path string `json:"path"` // absolute
}

// LibraryRoot is a file or folder that was added.
type LibraryRoot struct {
	Name      string `json:"name" jsonschema:"short and unique; begins the places of its documents"`
	Path      string `json:"path"`
	Source    string `json:"source"`
	Set       string `json:"set"`
	Documents int    `json:"documents"`
	Files     int    `json:"files" jsonschema:"with documents"`
	Bytes     int64  `json:"bytes" jsonschema:"of these files"`
	// Skipped is the number of files with content that is not stored, with files of unsupported types, and Reasons why.
	Skipped  int             `json:"skipped"`
	Reasons  []SkippedReason `json:"reasons" jsonschema:"why files are skipped, the most frequent first, at most 10"`
	SyncedAt string          `json:"synced_at"`
	Problem  string          `json:"problem,omitempty" jsonschema:"why the last sync could not read it"`
}

// MaxReasons bounds LibraryRoot.Reasons.
const MaxReasons = 10

// SkippedReason is why files are skipped.
type SkippedReason struct {
	Reason string `json:"reason"`
	Files  int    `json:"files"`
}

const notRead = "quarry does not read %s files"

// ReasonNotRead returns the reason for skipping files of an unsupported type.
func ReasonNotRead(extension string) string { return fmt.Sprintf(notRead, extension) }

// KindNotRead returns the extension in a ReasonNotRead; false for any other reason.
func KindNotRead(reason string) (extension string, ok bool) {
	before, after, _ := strings.Cut(notRead, "%s")
	extension, ok = strings.CutPrefix(reason, before)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(extension, after)
}

// Bounds of uploads for questions.
const (
	MaxUploadBytes = 32 << 20 // of one request
	MaxUploadFiles = 20       // of one request
)

// UploadedFiles is the answer of POST /user/projects/file/upload.
type UploadedFiles struct {
	UserFiles     []UserFile     `json:"user_files"`
	RejectedFiles []RejectedFile `json:"rejected_files"`
}

// UserFile is a file that its user can attach to questions, as a ChatFile of the same id.
type UserFile struct {
	ID             string  `json:"id"`
	TempID         *string `json:"temp_id"` // the uploader's own id
	Name           string  `json:"name"`
	ProjectID      *int    `json:"project_id"`
	UserID         *string `json:"user_id"`
	FileID         string  `json:"file_id"`
	CreatedAt      string  `json:"created_at"`
	Status         string  `json:"status"`
	LastAccessedAt *string `json:"last_accessed_at"`
	FileType       string  `json:"file_type"`      // media type
	ChatFileType   string  `json:"chat_file_type"` // ChatFileText or another of them
	TokenCount     *int    `json:"token_count"`
	ChunkCount     *int    `json:"chunk_count"` // null if it is read whole
}

// RejectedFile is a file that was rejected, and the reason.
type RejectedFile struct {
	FileName string `json:"file_name"`
	Reason   string `json:"reason"`
}

// FileCompleted is the Status of a file that can be attached.
const FileCompleted = "COMPLETED"

// The types of files in a chat.
const (
	ChatFileText     = "plain_text"
	ChatFileTable    = "tabular"
	ChatFileDocument = "document"
	ChatFileImage    = "image"
)

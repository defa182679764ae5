package wire

// Bounds of what can be uploaded for questions.
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
	TempID         *string `json:"temp_id"` // by which the uploader knows it
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
	ChunkCount     *int    `json:"chunk_count"` // null where it is read whole
}

// RejectedFile is a file that was not taken, and why.
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

// ChatFileTypes lists the types of files in a chat.
func ChatFileTypes() []string {
	return []string{ChatFileImage, ChatFileDocument, ChatFileText, ChatFileTable}
}

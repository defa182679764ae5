package wire

// IngestionRequest is the body of POST /onyx-api/ingestion, and a line of a JSONL file of documents.
type IngestionRequest struct {
	Document IngestionDocument `json:"document"`
	CCPairID *int              `json:"cc_pair_id,omitempty"`
}

// IngestionDocument is a document as other Onyx tooling sends it.
type IngestionDocument struct {
	ID                 string              `json:"id,omitempty"`
	Sections           []IngestionSection  `json:"sections"`
	Source             string              `json:"source"`
	SemanticIdentifier string              `json:"semantic_identifier"`
	Title              *string             `json:"title,omitempty"`
	Metadata           map[string]Metadata `json:"metadata"`
	DocUpdatedAt       *Time               `json:"doc_updated_at,omitempty"`
	DocCreatedAt       *Time               `json:"doc_created_at,omitempty"`
	PrimaryOwners      []Expert            `json:"primary_owners,omitempty"`
	SecondaryOwners    []Expert            `json:"secondary_owners,omitempty"`
	ExternalAccess     *ExternalAccess     `json:"external_access,omitempty"`
	FromIngestionAPI   bool                `json:"from_ingestion_api,omitempty"`
}

// IngestionSection is a part of a document with the place it links to.
type IngestionSection struct {
	Text string `json:"text"`
	Link string `json:"link,omitempty"`
}

// Expert is a person who owns a document.
type Expert struct {
	DisplayName   string `json:"display_name,omitempty"`
	FirstName     string `json:"first_name,omitempty"`
	MiddleInitial string `json:"middle_initial,omitempty"`
	LastName      string `json:"last_name,omitempty"`
	Email         string `json:"email,omitempty"`
}

// ExternalAccess tells who may see a document in the system that it came from.
type ExternalAccess struct {
	UserEmails   []string `json:"external_user_emails"`
	UserGroupIDs []string `json:"external_user_group_ids"`
	IsPublic     bool     `json:"is_public"`
}

// IngestionResponse is the answer of POST /onyx-api/ingestion.
type IngestionResponse struct {
	DocumentID     string `json:"document_id"`
	AlreadyExisted bool   `json:"already_existed"`
}

// AccessToken is a personal access token as it is listed.
type AccessToken struct {
	ID           int      `json:"id"`
	Name         string   `json:"name"`
	TokenDisplay string   `json:"token_display"`
	CreatedAt    string   `json:"created_at"`
	ExpiresAt    *string  `json:"expires_at"`
	LastUsedAt   *string  `json:"last_used_at"`
	Scopes       []string `json:"scopes"` // null: all that the user may
}

// NewAccessToken is the answer of POST /user/pats: the only time that the token itself is shown.
type NewAccessToken struct {
	AccessToken
	Token string `json:"token"`
}

// AccessTokenRequest is the body of POST /user/pats.
type AccessTokenRequest struct {
	Name           string   `json:"name"`
	ExpirationDays *int     `json:"expiration_days"`
	Scopes         []string `json:"scopes"`
}

// CodedError is the body of an error with a code.
type CodedError struct {
	ErrorCode string `json:"error_code"`
	Detail    string `json:"detail"`
}

// DetailError is the body of an error without a code.
type DetailError struct {
	Detail string `json:"detail"`
}

// ValidationError is the body of a 422.
type ValidationError struct {
	StatusCode int    `json:"status_code"`
	Message    string `json:"message"`
	Data       any    `json:"data"`
}

// MessageError is the body of a 400 for a value that no check foresaw.
type MessageError struct {
	Message string `json:"message"`
}

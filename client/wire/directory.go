package wire

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"quarry/internal/text"
)

// The types of the /admin routes name users, groups and connectors by name, where the other routes use numbers.

// Added is the answer of the /admin routes that add something.
type Added[T any] struct {
	Item     T        `json:"item"`
	IsNew    bool     `json:"is_new"` // false: it existed before
	NewUsers []string `json:"-"`      // addresses of users who were added with it, as the client finds out
}

// DirectoryUser is a user.
type DirectoryUser struct {
	ID        string `json:"id,omitempty"`
	Email     string `json:"email"`
	Role      string `json:"role" jsonschema:"basic or admin"`
	IsActive  bool   `json:"is_active"`
	CreatedAt string `json:"created_at,omitempty"`
}

// DirectoryUserState is the body of PATCH /admin/users.
type DirectoryUserState struct {
	Email    string `json:"email"`
	IsActive bool   `json:"is_active"`
}

// DirectoryToken is an access token with the address of its user.
type DirectoryToken struct {
	AccessToken
	User string `json:"user,omitempty" jsonschema:"address; missing for the caller's own tokens"`
}

// SandboxTokenRequest is the body of POST /admin/sandbox-tokens.
type SandboxTokenRequest struct {
	User  string `json:"user"`  // address
	Renew bool   `json:"renew"` // replace a valid token
}

// DirectoryGroup is a group of this server, or of another system, with the name SOURCE:ID.
type DirectoryGroup struct {
	ID         int      `json:"id,omitempty"`
	Name       string   `json:"name"`
	External   bool     `json:"external" jsonschema:"a group of another system"`
	Users      []string `json:"users" jsonschema:"addresses"`
	Connectors []string `json:"connectors" jsonschema:"names"`
}

// DirectoryConnector is a connector with its credential, which documents are posted to. ID is their cc_pair_id.
type DirectoryConnector struct {
	ID           int      `json:"id" jsonschema:"cc_pair_id of its documents"`
	Name         string   `json:"name"`
	Source       string   `json:"source"`
	AccessType   string   `json:"access_type" jsonschema:"public, private or sync"`
	Groups       []string `json:"groups"`
	Creator      string   `json:"creator"`
	DocumentSets []string `json:"document_sets"`
}

// DirectorySet is a document set.
type DirectorySet struct {
	ID          int      `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	IsPublic    bool     `json:"is_public"`
	Users       []string `json:"users"`
	Groups      []string `json:"groups"`
	Connectors  []string `json:"connectors"`
}

// DirectoryAgent is an agent.
type DirectoryAgent struct {
	ID              int      `json:"id"`
	Name            string   `json:"name"`
	Description     string   `json:"description"`
	IsPublic        bool     `json:"is_public"`
	Owner           string   `json:"owner" jsonschema:"address; empty: none"`
	Users           []string `json:"users"`
	Groups          []string `json:"groups"`
	DocumentSets    []string `json:"document_sets"`
	Documents       []string `json:"documents" jsonschema:"ids"`
	SearchStartDate *string  `json:"search_start_date" jsonschema:"older documents are not searched"`
	SystemPrompt    string   `json:"system_prompt"`
	Provider        string   `json:"provider"`
	Model           string   `json:"model"`
}

// DirectoryTenantRequest is the body of POST /admin/tenants.
type DirectoryTenantRequest struct {
	Name string `json:"name"`
}

// DirectoryTenant is a tenant and the number of its objects. Only valid tokens count.
type DirectoryTenant struct {
	Name          string `json:"name"`
	CreatedAt     string `json:"created_at"`
	Users         int    `json:"users" jsonschema:"including the owner"`
	Tokens        int    `json:"tokens" jsonschema:"valid ones"`
	Groups        int    `json:"groups"`
	Connectors    int    `json:"connectors"`
	DocumentSets  int    `json:"document_sets"`
	Agents        int    `json:"agents"`
	Documents     int    `json:"documents"`
	Conversations int    `json:"conversations"`
}

// Holds describes the contents of a tenant without its owner; it is empty for an empty tenant.
func (t DirectoryTenant) Holds() (parts []string) {
	for _, what := range []struct {
		n    int
		noun string
		more string
	}{
		{t.Documents, "document", ""}, {t.Users - 1, "user", " beside the owner"}, {t.Tokens, "token", ""},
		{t.Groups, "group", ""}, {t.Connectors, "connector", ""}, {t.DocumentSets, "document set", ""},
		{t.Agents, "agent", ""}, {t.Conversations, "conversation", ""},
	} {
		if what.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s%s", what.n, text.Plural(what.n, what.noun), what.more))
		}
	}
	return parts
}

// IngestionRequest is the body of POST /onyx-api/ingestion, and a line of a JSONL file of documents.
type IngestionRequest struct {
	Document IngestionDocument `json:"document"`
	CCPairID *int              `json:"cc_pair_id,omitempty"`
}

// IngestionDocument is a document as tools for Onyx send it.
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

// IngestionSection is a part of a document and its link.
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

// ExternalAccess is who may see a document in the system that it came from.
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

// AccessToken is a listed personal access token.
type AccessToken struct {
	ID           int      `json:"id"`
	Name         string   `json:"name"`
	TokenDisplay string   `json:"token_display" jsonschema:"the token, masked"`
	CreatedAt    string   `json:"created_at"`
	ExpiresAt    *string  `json:"expires_at"`
	LastUsedAt   *string  `json:"last_used_at"`
	Scopes       []string `json:"scopes" jsonschema:"null: all permissions of the user"`
}

// NewAccessToken is the answer of POST /user/pats: the only time that the token itself is shown.
type NewAccessToken struct {
	AccessToken
	Token string `json:"token" jsonschema:"shown only once"`
}

// AccessTokenRequest is the body of POST /user/pats.
type AccessTokenRequest struct {
	Name           string   `json:"name"`
	ExpirationDays *int     `json:"expiration_days"`
	Scopes         []string `json:"scopes"`
	// User is an address, which only the owner of a library in this process may give; empty: the caller.
	User string `json:"user,omitempty"`
}

// CodedError is the body of an error with a code.
type CodedError struct {
	ErrorCode string `json:"error_code"`
	Detail    string `json:"detail"`
}

// StatusOf returns the status that is sent with an error code; an unknown code is an internal error.
func StatusOf(code string) int {
	if strings.HasSuffix(code, "NOT_FOUND") {
		return http.StatusNotFound
	}
	row, _ := statuses(code)
	status, _ := strconv.Atoi(row)
	return cmp.Or(status, http.StatusInternalServerError)
}

var statuses = text.Table(`400: BAD_REQUEST VALIDATION_ERROR INVALID_INPUT MISSING_REQUIRED_FIELD QUERY_REJECTED
	400: CONNECTOR_VALIDATION_FAILED CREDENTIAL_INVALID INVALID_REQUEST
	401: UNAUTHENTICATED INVALID_TOKEN TOKEN_EXPIRED CREDENTIAL_EXPIRED
	402: SEAT_LIMIT_EXCEEDED FEATURE_NOT_AVAILABLE SUBSCRIPTION_INACTIVE
	403: CSRF_FAILURE SESSION_EXPIRED SESSION_TERMINATED SESSION_UNRECOGNIZED UNAUTHORIZED INSUFFICIENT_PERMISSIONS
	403: ADMIN_ONLY REGISTRATION_DISABLED EE_REQUIRED SINGLE_TENANT_ONLY ENV_VAR_GATED DEPLOYMENT_UNSUPPORTED
	403: TRIAL_INVITE_LIMIT_EXCEEDED
	409: CONFLICT DUPLICATE_RESOURCE SKILL_NAME_CONFLICT TENANT_NOT_EMPTY
	410: GONE
	413: PAYLOAD_TOO_LARGE
	429: RATE_LIMITED
	501: NOT_IMPLEMENTED
	502: BAD_GATEWAY LLM_PROVIDER_ERROR HOOK_EXECUTION_FAILED
	503: SERVICE_UNAVAILABLE
	504: GATEWAY_TIMEOUT`)

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

// MessageError is the body of a 400 for an unexpected value.
type MessageError struct {
	Message string `json:"message"`
}

// Created is the answer of writing routes that tell the number of what they made.
type Created struct {
	ID         int         `json:"id"`
	Credential *Credential `json:"credential"` // of POST /manage/credential
}

// ConnectorRequest is the body of POST /manage/admin/connector.
type ConnectorRequest struct {
	Name       string         `json:"name"`
	Source     string         `json:"source"`
	InputType  string         `json:"input_type"`
	Config     map[string]any `json:"connector_specific_config"`
	AccessType string         `json:"access_type"`
	Groups     []int          `json:"groups"`
}

// CredentialRequest is the body of POST /manage/credential.
type CredentialRequest struct {
	Name          string         `json:"name"`
	Source        string         `json:"source"`
	JSON          map[string]any `json:"credential_json"`
	AdminPublic   bool           `json:"admin_public"`
	CuratorPublic bool           `json:"curator_public"`
	Groups        []int          `json:"groups"`
}

// PairRequest is the body of PUT /manage/connector/{id}/credential/{id}.
type PairRequest struct {
	Name       string `json:"name"`
	AccessType string `json:"access_type"` // public, private or sync
	Groups     []int  `json:"groups"`
	Creator    string `json:"creator,omitempty"` // address, which only the owner of a library in this process may give
}

// PairResponse is its answer.
type PairResponse struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
	Data    int    `json:"data"` // the number of the connector-credential pair
}

// DocumentSetRequest is the body of POST /manage/admin/document-set.
type DocumentSetRequest struct {
	Name                string   `json:"name"`
	Description         string   `json:"description"`
	CCPairIDs           []int    `json:"cc_pair_ids"`
	IsPublic            bool     `json:"is_public"`
	Users               []string `json:"users"` // ids
	Groups              []int    `json:"groups"`
	FederatedConnectors []any    `json:"federated_connectors"`
}

// PersonaRequest is the body of POST /persona.
type PersonaRequest struct {
	Name            string           `json:"name"`
	Description     string           `json:"description"`
	SystemPrompt    string           `json:"system_prompt"`
	TaskPrompt      string           `json:"task_prompt"`
	DatetimeAware   bool             `json:"datetime_aware"`
	IsPublic        bool             `json:"is_public"`
	DocumentSetIDs  []int            `json:"document_set_ids"`
	DocumentIDs     []string         `json:"document_ids"`
	ToolIDs         []int            `json:"tool_ids"`
	Users           []string         `json:"users"` // ids
	Groups          []int            `json:"groups"`
	LabelIDs        []int            `json:"label_ids"`
	UserFileIDs     []string         `json:"user_file_ids"`
	DisplayPriority *int             `json:"display_priority"`
	StarterMessages []StarterMessage `json:"starter_messages"`
	SearchStartDate *string          `json:"search_start_date"`
	Provider        *string          `json:"llm_model_provider_override"`
	Model           *string          `json:"llm_model_version_override"`
}

package wire

import "fmt"

// Me is the answer of GET /me.
type Me struct {
	ID                   string          `json:"id"`
	Email                string          `json:"email"`
	IsActive             bool            `json:"is_active"`
	IsSuperuser          bool            `json:"is_superuser"`
	IsVerified           bool            `json:"is_verified"`
	AccountType          string          `json:"account_type"`
	Preferences          Preferences     `json:"preferences"`
	Personalization      Personalization `json:"personalization"`
	TokenExpiresAt       *string         `json:"token_expires_at"`
	IsCloudSuperuser     bool            `json:"is_cloud_superuser"`
	TeamName             *string         `json:"team_name"`
	IsAnonymousUser      bool            `json:"is_anonymous_user"`
	PasswordConfigured   bool            `json:"password_configured"`
	TenantInfo           any             `json:"tenant_info"`
	EffectivePermissions []string        `json:"effective_permissions"`
	IsGroupManager       bool            `json:"is_group_manager"`
	AdminCapabilities    []string        `json:"admin_capabilities"`
}

// Preferences are the settings of a user in Onyx's own pages.
type Preferences struct {
	ChosenAssistants       []int    `json:"chosen_assistants"`
	HiddenAssistants       []int    `json:"hidden_assistants"`
	VisibleAssistants      []int    `json:"visible_assistants"`
	DefaultModel           *string  `json:"default_model"`
	PinnedAssistants       []int    `json:"pinned_assistants"`
	ShortcutEnabled        *bool    `json:"shortcut_enabled"`
	AutoScroll             *bool    `json:"auto_scroll"`
	TemperatureOverride    *bool    `json:"temperature_override_enabled"`
	ThemePreference        *string  `json:"theme_preference"`
	Language               *string  `json:"language"`
	ChatBackground         *string  `json:"chat_background"`
	DefaultAppMode         string   `json:"default_app_mode"`
	PasteAsTile            *bool    `json:"paste_as_tile"`
	VoiceAutoSend          *bool    `json:"voice_auto_send"`
	VoiceAutoPlayback      *bool    `json:"voice_auto_playback"`
	VoicePlaybackSpeed     *float64 `json:"voice_playback_speed"`
	AssistantSpecificSetup any      `json:"assistant_specific_configs"`
}

// DefaultPreferences returns those of a user who has set none.
func DefaultPreferences() Preferences {
	return Preferences{HiddenAssistants: []int{}, VisibleAssistants: []int{}, PinnedAssistants: []int{},
		DefaultAppMode: "CHAT"}
}

// Personalization describes the user for the model.
type Personalization struct {
	Name             string   `json:"name"`
	Role             string   `json:"role"`
	UseMemories      bool     `json:"use_memories"`
	EnableMemoryTool bool     `json:"enable_memory_tool"`
	Memories         []Memory `json:"memories"`
	UserPreferences  string   `json:"user_preferences"`
}

// Memory is one remembered fact.
type Memory struct {
	ID      int    `json:"id"`
	Content string `json:"content"`
}

// Version is the answer of GET /version. Quarry is absent from a bare Onyx.
type Version struct {
	BackendVersion string         `json:"backend_version"`
	Quarry         *QuarryVersion `json:"quarry,omitempty"`
}

// QuarryVersion lists the extensions of a quarry server.
type QuarryVersion struct {
	Version  string   `json:"version"`
	API      int      `json:"api"`
	Features []string `json:"features"`
}

// The features of quarry servers.
const (
	FeatureStream         = "stream"
	FeatureFacets         = "facets"
	FeatureChunks         = "chunks"
	FeatureSuggest        = "suggest"
	FeatureInstant        = "instant"
	FeatureNumResults     = "num_results"
	FeaturePhrases        = "phrases"
	FeatureTimeUntil      = "time_until"
	FeatureExplain        = "explain"
	FeatureExcludeFilters = "exclude_filters"
	FeatureOffset         = "offset"
	FeatureResultSet      = "result_set" // totals, facets and matches are of one set of documents
	FeatureSort           = "sort"
	FeatureBrowse         = "browse"
	FeaturePrefix         = "prefix"
	FeatureAddedSince     = "added_since"
	FeatureSimilarTo      = "similar_to"
	FeatureLines          = "lines"
	FeatureRefs           = "refs"       // of a question
	FeatureHighlights     = "highlights" // of chunks
)

// Status is the answer of GET /health and of some writing routes.
type Status struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
	Data    any    `json:"data"`
}

// AuthType is the answer of GET /auth/type. AuthType itself is of older versions of Onyx.
type AuthType struct {
	AuthType                   string `json:"auth_type"`
	MultiTenant                bool   `json:"multi_tenant"`
	RequiresVerification       bool   `json:"requires_verification"`
	AnonymousUserEnabled       *bool  `json:"anonymous_user_enabled"`
	PasswordMinLength          int    `json:"password_min_length"`
	PasswordMaxLength          int    `json:"password_max_length"`
	PasswordRequireUppercase   bool   `json:"password_require_uppercase"`
	PasswordRequireLowercase   bool   `json:"password_require_lowercase"`
	PasswordRequireDigit       bool   `json:"password_require_digit"`
	PasswordRequireSpecialChar bool   `json:"password_require_special_char"`
	HasUsers                   bool   `json:"has_users"`
	OAuthEnabled               bool   `json:"oauth_enabled"`
	PasswordAuthEnabled        bool   `json:"password_auth_enabled"`
	SSOProviders               []any  `json:"sso_providers"`
}

// Persona is an agent as GET /persona lists it.
type Persona struct {
	ID                          int              `json:"id"`
	Name                        string           `json:"name"`
	Description                 string           `json:"description"`
	Tools                       []Tool           `json:"tools"`
	StarterMessages             []StarterMessage `json:"starter_messages"`
	DocumentSets                []DocumentSet    `json:"document_sets"`
	HierarchyNodeCount          int              `json:"hierarchy_node_count"`
	AttachedDocumentCount       int              `json:"attached_document_count"`
	KnowledgeSources            []string         `json:"knowledge_sources"`
	DefaultModelConfigurationID *int             `json:"default_model_configuration_id"`
	UploadedImageID             *string          `json:"uploaded_image_id"`
	IconName                    *string          `json:"icon_name"`
	IsPublic                    bool             `json:"is_public"`
	IsListed                    bool             `json:"is_listed"`
	DisplayPriority             *int             `json:"display_priority"`
	IsFeatured                  bool             `json:"is_featured"`
	BuiltinPersona              bool             `json:"builtin_persona"`
	Labels                      []Named          `json:"labels"`
	Owner                       *Owner           `json:"owner"`
	OwnerGroup                  *Named           `json:"owner_group"`
	UserPermission              *string          `json:"user_permission"`
	Permissions                 map[string]any   `json:"permissions"`
}

// FullPersona is the answer of GET /persona/{id}.
type FullPersona struct {
	Persona
	SystemPrompt            *string            `json:"system_prompt"`
	ReplaceBaseSystemPrompt bool               `json:"replace_base_system_prompt"`
	TaskPrompt              *string            `json:"task_prompt"`
	DatetimeAware           bool               `json:"datetime_aware"`
	Users                   []Owner            `json:"users"`
	Groups                  []int              `json:"groups"`
	UserShares              []UserShare        `json:"user_shares"`
	GroupShares             []GroupShare       `json:"group_shares"`
	PublicPermission        string             `json:"public_permission"`
	SharingStatus           string             `json:"sharing_status"`
	UserFileIDs             []string           `json:"user_file_ids"`
	HierarchyNodes          []any              `json:"hierarchy_nodes"`
	AttachedDocuments       []AttachedDocument `json:"attached_documents"`
	SearchStartDate         *string            `json:"search_start_date"`
	AdminCount              int                `json:"admin_count"`
	OwnershipVacant         bool               `json:"ownership_vacant"`
	// Its language model; empty for all but the owner of the library in this process.
	Provider string `json:"llm_model_provider_override,omitempty"`
	Model    string `json:"llm_model_version_override,omitempty"`
}

// UserShare is a user who may use an agent.
type UserShare struct {
	User       Owner  `json:"user"`
	Permission string `json:"permission"`
}

// GroupShare is a group whose members may use an agent.
type GroupShare struct {
	GroupID    int    `json:"group_id"`
	GroupName  string `json:"group_name"`
	Permission string `json:"permission"`
}

// AttachedDocument is a document that an agent searches.
type AttachedDocument struct {
	ID           string  `json:"id"`
	Title        string  `json:"title"`
	Link         *string `json:"link"`
	ParentID     *int    `json:"parent_id"`
	LastModified *string `json:"last_modified"`
	LastSynced   *string `json:"last_synced"`
	Source       *string `json:"source"`
}

// Tool is a tool that agents can use.
type Tool struct {
	ID                      int             `json:"id"`
	Name                    string          `json:"name"`
	Description             string          `json:"description"`
	Definition              any             `json:"definition"`
	DisplayName             string          `json:"display_name"`
	InCodeToolID            *string         `json:"in_code_tool_id"`
	CustomHeaders           []any           `json:"custom_headers"`
	PassthroughAuth         bool            `json:"passthrough_auth"`
	MCPServerID             *int            `json:"mcp_server_id"`
	UserID                  *string         `json:"user_id"`
	OAuthConfigID           *int            `json:"oauth_config_id"`
	OAuthConfigName         *string         `json:"oauth_config_name"`
	Enabled                 bool            `json:"enabled"`
	Permissions             map[string]bool `json:"permissions"`
	ChatSelectable          bool            `json:"chat_selectable"`
	AgentCreationSelectable bool            `json:"agent_creation_selectable"`
	DefaultEnabled          bool            `json:"default_enabled"`
}

// PersonaPage is the answer of GET /agents.
type PersonaPage struct {
	Items      []Persona `json:"items"`
	TotalItems int       `json:"total_items"`
}

// StarterMessage is a suggested first question.
type StarterMessage struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

// Named is a reference by number and name.
type Named struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

// Owner is the owner of an agent. Email is empty, or null in older versions of Onyx, unless the caller may see it.
type Owner struct {
	ID    string  `json:"id"`
	Email *string `json:"email"`
}

// DocumentSet is a named collection of documents.
type DocumentSet struct {
	ID                          int                   `json:"id"`
	Name                        string                `json:"name"`
	Description                 *string               `json:"description"`
	CCPairSummaries             []ConnectorSummary    `json:"cc_pair_summaries"`
	IsUpToDate                  bool                  `json:"is_up_to_date"`
	IsPublic                    bool                  `json:"is_public"`
	Users                       []string              `json:"users"`
	Groups                      []int                 `json:"groups"`
	Permissions                 map[string]any        `json:"permissions"`
	FederatedConnectorSummaries []FederatedConnection `json:"federated_connector_summaries"`
}

// ConnectorSummary names a connector that feeds a document set.
type ConnectorSummary struct {
	ID         int    `json:"id"`
	Name       string `json:"name"`
	Source     string `json:"source"`
	AccessType string `json:"access_type"`
}

// FederatedConnection is a source that is searched at query time.
type FederatedConnection struct {
	ID       int    `json:"id"`
	Name     string `json:"name"`
	Source   string `json:"source"`
	Entities any    `json:"entities,omitempty"`
}

// Connector is a connector as GET /manage/connector lists it. The keys of Config depend on the source.
type Connector struct {
	ID            int            `json:"id"`
	Name          string         `json:"name"`
	Source        string         `json:"source"`
	InputType     string         `json:"input_type"`
	Config        map[string]any `json:"connector_specific_config"`
	RefreshFreq   *int           `json:"refresh_freq"` // seconds
	PruneFreq     *int           `json:"prune_freq"`   // seconds
	IndexingStart *string        `json:"indexing_start"`
	CredentialIDs []int          `json:"credential_ids"`
	TimeCreated   string         `json:"time_created"`
	TimeUpdated   string         `json:"time_updated"`
}

// IndexedSources is the answer of GET /manage/indexed-sources.
type IndexedSources struct {
	Sources []string `json:"sources"`
}

// ConnectorStatus is one row of GET /manage/connector-status.
type ConnectorStatus struct {
	HasSuccessfulRun bool   `json:"has_successful_run"`
	Source           string `json:"source"`
	Status           string `json:"status"`
}

// ValidTags is the answer of GET /query/valid-tags.
type ValidTags struct {
	Tags []SourceTag `json:"tags"`
}

// SourceTag is a tag and the source of the documents that have it.
type SourceTag struct {
	Key    string `json:"tag_key"`
	Value  string `json:"tag_value"`
	Source string `json:"source"`
}

// DocumentSize is the answer of GET /document/document-size-info.
type DocumentSize struct {
	NumChunks int `json:"num_chunks"`
	NumTokens int `json:"num_tokens"`
}

// ChunkInfo is the answer of GET /document/chunk-info.
type ChunkInfo struct {
	Content   string `json:"content"`
	NumTokens int    `json:"num_tokens"`
}

// DocumentChunks is the answer of GET /document/chunks.
type DocumentChunks struct {
	Document DocumentInfo `json:"document"`
	Chunks   []Chunk      `json:"chunks"`
	// Passage is the chunk at the line, page or heading that the request named; nil: it named the document.
	Passage *int `json:"passage,omitempty"`
}

// DocumentInfo describes a document.
type DocumentInfo struct {
	ID         string           `json:"id"`
	Title      string           `json:"title"`
	Link       *string          `json:"link"`
	SourceType string           `json:"source_type"`
	UpdatedAt  *string          `json:"updated_at" jsonschema:"ISO 8601"`
	Authors    []string         `json:"authors"`
	ChunkCount int              `json:"chunk_count"`
	Outline    []OutlineHeading `json:"outline"`
}

// OutlineHeading is a heading of a document and the chunk that contains it.
type OutlineHeading struct {
	Level    int    `json:"level"`
	Text     string `json:"text"`
	ChunkInd int    `json:"chunk_ind"`
}

// Chunk is a piece of a document as it was indexed.
type Chunk struct {
	ChunkInd    int      `json:"chunk_ind" jsonschema:"number of the passage, from 0"`
	Content     string   `json:"content"`
	HeadingPath []string `json:"heading_path"`
	// Damaged chunks cannot be read: Content is empty.
	Damaged bool  `json:"damaged,omitempty" jsonschema:"the text cannot be read"`
	Lines   []int `json:"lines,omitempty" jsonschema:"first and last line in the source file"`
	Bytes   []int `json:"bytes,omitempty" jsonschema:"half-open range of bytes in the source file"`

	// Highlights are nil without a query.
	Highlights []Span `json:"highlights,omitzero" jsonschema:"matches, as ranges of bytes in content"`
}

// Text returns the content of a chunk for display, or a notice that it is damaged.
func (c Chunk) Text() string {
	if c.Damaged {
		return fmt.Sprintf("[Passage %d is damaged and cannot be read.]", c.ChunkInd+1)
	}
	return c.Content
}

// Suggestions is the answer of GET /search/suggest.
type Suggestions struct {
	Words  []string          `json:"words"`
	Titles []TitleSuggestion `json:"titles"`
}

// TitleSuggestion is a document whose title starts with a prefix.
type TitleSuggestion struct {
	Title      string `json:"title"`
	DocumentID string `json:"document_id"`
}

// FacetCounts is the answer of GET /search/facets.
type FacetCounts struct {
	Facets       Facets `json:"facets"`
	TotalMatches int    `json:"total_matches"`
}

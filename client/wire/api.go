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
	Preferences          map[string]any  `json:"preferences"`
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
	FeatureAuthors        = "authors"
	FeatureDocumentTypes  = "document_types"
	FeatureExplain        = "explain"
	FeatureExcludeFilters = "exclude_filters"
	FeatureOffset         = "offset"
	FeatureSort           = "sort"
	FeatureBrowse         = "browse"
	FeaturePrefix         = "prefix"
	FeatureAddedSince     = "added_since"
	FeatureSimilarTo      = "similar_to"
	FeatureLines          = "lines"
	FeatureRefs           = "refs" // of a question
)

// Status is the answer of GET /health and of some writing routes.
type Status struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
	Data    any    `json:"data"`
}

// AuthType is the answer of GET /auth/type.
type AuthType struct {
	AuthType string `json:"auth_type"`
}

// Persona is an agent as GET /persona lists it.
type Persona struct {
	ID                          int              `json:"id"`
	Name                        string           `json:"name"`
	Description                 string           `json:"description"`
	Tools                       []any            `json:"tools"`
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
	Labels                      []Label          `json:"labels"`
	Owner                       *Owner           `json:"owner"`
	OwnerGroup                  *Named           `json:"owner_group"`
	UserPermission              *string          `json:"user_permission"`
	Permissions                 map[string]any   `json:"permissions"`
}

// FullPersona is the answer of GET /persona/{id}.
type FullPersona struct {
	Persona
	SystemPrompt    *string `json:"system_prompt"`
	TaskPrompt      *string `json:"task_prompt"`
	Users           []Owner `json:"users"`
	Groups          []int   `json:"groups"`
	SearchStartDate *string `json:"search_start_date"`
}

// MaxAgentsPerPage is the most agents that GET /agents returns at once.
const MaxAgentsPerPage = 1000

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

// Label is a named label of an agent.
type Label struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

// Named is a reference by number and name.
type Named struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

// Owner is the owner of an agent. Email is null unless the caller may see it.
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

// FederatedLogin is one row of GET /federated/oauth-status: whether the caller signed in to a source that is searched
// at query time. Without signing in it has no results.
type FederatedLogin struct {
	ConnectorID    int     `json:"federated_connector_id"`
	Source         string  `json:"source"`
	Name           string  `json:"name"`
	HasToken       bool    `json:"has_oauth_token"`
	TokenExpiresAt *string `json:"oauth_token_expires_at"`
	AuthorizeURL   *string `json:"authorize_url"` // where to sign in
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
}

// DocumentInfo describes a document.
type DocumentInfo struct {
	ID         string           `json:"id"`
	Title      string           `json:"title"`
	Link       *string          `json:"link"`
	SourceType string           `json:"source_type"`
	UpdatedAt  *string          `json:"updated_at"`
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
	ChunkInd    int      `json:"chunk_ind"`
	Content     string   `json:"content"`
	HeadingPath []string `json:"heading_path"`
	Damaged     bool     `json:"damaged,omitempty"` // it cannot be read: Content is empty
	Lines       []int    `json:"lines,omitempty"`   // first and last line in the source file; absent without one
	Bytes       []int    `json:"bytes,omitempty"`   // half-open range in the source file; absent without one
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

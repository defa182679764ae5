package wire

// Created is the answer of writing routes that tell the number of what they made.
type Created struct {
	ID int `json:"id"`
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
	StarterMessages []StarterMessage `json:"starter_messages"`
	SearchStartDate *string          `json:"search_start_date"`
	Provider        *string          `json:"llm_model_provider_override"`
	Model           *string          `json:"llm_model_version_override"`
}

// UserGroupRequest is the body of POST /manage/admin/user-group.
type UserGroupRequest struct {
	Name      string   `json:"name"`
	UserIDs   []string `json:"user_ids"`
	CCPairIDs []int    `json:"cc_pair_ids"`
}

// UserGroup is a group of people as administrators see it.
type UserGroup struct {
	ID         int                `json:"id"`
	Name       string             `json:"name"`
	Users      []GroupMember      `json:"users"`
	CCPairs    []ConnectorSummary `json:"cc_pairs"`
	IsUpToDate bool               `json:"is_up_to_date"`
}

// GroupMember is somebody in a group.
type GroupMember struct {
	ID       string `json:"id"`
	Email    string `json:"email"`
	IsActive bool   `json:"is_active"`
}

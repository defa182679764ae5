package wire

// UserGroup is a group of people as administrators see it.
type UserGroup struct {
	ID               int             `json:"id"`
	Name             string          `json:"name"`
	Users            []Me            `json:"users"`
	ManagerIDs       []string        `json:"manager_ids"`
	CCPairs          []CCPair        `json:"cc_pairs"`
	DocumentSets     []GroupSet      `json:"document_sets"`
	Personas         []FullPersona   `json:"personas"`
	IsUpToDate       bool            `json:"is_up_to_date"`
	IsUpForDeletion  bool            `json:"is_up_for_deletion"`
	IsDefault        bool            `json:"is_default"`
	IncognitoEnabled bool            `json:"incognito_enabled"`
	Permissions      map[string]bool `json:"permissions"`
}

// MinimalUserGroup is a group as its members see it.
type MinimalUserGroup struct {
	ID        int    `json:"id"`
	Name      string `json:"name"`
	IsDefault bool   `json:"is_default"`
}

// GroupSet is a document set of a group. Its connectors are complete, unlike those of a DocumentSet.
type GroupSet struct {
	ID                  int      `json:"id"`
	Name                string   `json:"name"`
	Description         *string  `json:"description"`
	CCPairs             []CCPair `json:"cc_pair_descriptors"`
	IsUpToDate          bool     `json:"is_up_to_date"`
	IsPublic            bool     `json:"is_public"`
	Users               []string `json:"users"`
	Groups              []int    `json:"groups"`
	FederatedConnectors []any    `json:"federated_connectors"`
}

// CCPair is a connector with a credential.
type CCPair struct {
	ID         int        `json:"id"`
	Name       string     `json:"name"`
	Connector  Connector  `json:"connector"`
	Credential Credential `json:"credential"`
	AccessType string     `json:"access_type"`
}

// Credential is a credential without its secret.
type Credential struct {
	CredentialRequest
	ID          int     `json:"id"`
	UserID      *string `json:"user_id"`
	UserEmail   *string `json:"user_email"`
	TimeCreated string  `json:"time_created"`
	TimeUpdated string  `json:"time_updated"`
}

// UserGroupRequest is the body of POST /manage/admin/user-group.
type UserGroupRequest struct {
	Name      string   `json:"name"`
	UserIDs   []string `json:"user_ids"`
	CCPairIDs []int    `json:"cc_pair_ids"`
}

// UserGroupChange is the body of PATCH /manage/admin/user-group/{id}.
type UserGroupChange struct {
	UserIDs   []string `json:"user_ids"`
	CCPairIDs []int    `json:"cc_pair_ids"`
}

// IngestedDocument is a posted document in a list.
type IngestedDocument struct {
	ID    string  `json:"document_id"`
	Title string  `json:"semantic_id"`
	Link  *string `json:"link"`
}

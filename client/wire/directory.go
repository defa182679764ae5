package wire

// What follows is how `quarry admin` shows and takes what is arranged for a served library: by names, where the routes
// of the API have numbers.

// DirectoryUser is a user.
type DirectoryUser struct {
	Email     string `json:"email"`
	Role      string `json:"role"` // basic or admin
	IsActive  bool   `json:"is_active"`
	CreatedAt string `json:"created_at,omitempty"`
}

// DirectoryGroup is a group of this server, or of another system that documents come from, which is called SOURCE:ID.
type DirectoryGroup struct {
	ID         int      `json:"id,omitempty"`
	Name       string   `json:"name"`
	External   bool     `json:"external"`
	Users      []string `json:"users"`      // addresses
	Connectors []string `json:"connectors"` // names
}

// DirectoryConnector is what documents are posted for: a connector with its credential. ID is their cc_pair_id.
type DirectoryConnector struct {
	ID           int      `json:"id"`
	Name         string   `json:"name"`
	Source       string   `json:"source"`
	AccessType   string   `json:"access_type"` // public, private or sync
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
	Owner           string   `json:"owner"` // address; empty: nobody's
	Users           []string `json:"users"`
	Groups          []string `json:"groups"`
	DocumentSets    []string `json:"document_sets"`
	Documents       []string `json:"documents"`         // ids
	SearchStartDate *string  `json:"search_start_date"` // documents older than this are out of its scope
	SystemPrompt    string   `json:"system_prompt"`
	Provider        string   `json:"provider"`
	Model           string   `json:"model"`
}

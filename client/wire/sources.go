package wire

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Source describes one value of Onyx's DocumentSource.
type Source struct {
	Value       string
	Name        string // for display
	Category    string
	Description string // empty: intentionally undescribed
	Internal    bool   // never listed
}

// sources follows the order of Onyx's enumeration (backend/onyx/configs/constants.py); names and categories are its
// web application's.
var sources = [...]Source{
	{Value: "ingestion_api", Name: "Ingestion", Category: "Other", Description: "Documents ingested via API", Internal: true},
	{Value: "slack", Name: "Slack", Category: "Messaging", Description: "Team messages and channel discussions"},
	{Value: "web", Name: "Web", Category: "Other", Description: "Indexed web pages"},
	{Value: "google_drive", Name: "Google Drive", Category: "Storage", Description: "Documents, spreadsheets, and presentations"},
	{Value: "gmail", Name: "Gmail", Category: "Messaging", Description: "Email conversations and threads"},
	{Value: "github", Name: "GitHub", Category: "CodeRepository", Description: "Pull requests, issues, and code reviews"},
	{Value: "gitbook", Name: "GitBook", Category: "Wiki", Description: "Documentation and knowledge base pages"},
	{Value: "gitlab", Name: "GitLab", Category: "CodeRepository", Description: "Merge requests, issues, and code"},
	{Value: "guru", Name: "Guru", Category: "Wiki", Description: "Knowledge cards and collections"},
	{Value: "bookstack", Name: "BookStack", Category: "Wiki", Description: "Documentation and knowledge base pages"},
	{Value: "outline", Name: "Outline", Category: "Wiki", Description: "Documentation and knowledge base pages"},
	{Value: "confluence", Name: "Confluence", Category: "Wiki", Description: "Wiki pages, spaces, and documentation"},
	{Value: "jira", Name: "Jira", Category: "TicketingAndTaskManagement", Description: "Issues, tickets, and project tracking"},
	{Value: "slab", Name: "Slab", Category: "Wiki", Description: "Documentation and knowledge base pages"},
	{Value: "productboard", Name: "Productboard", Category: "TicketingAndTaskManagement", Description: "Product management boards and insights"},
	{Value: "file", Name: "File", Category: "Other", Description: "Files from folders and uploads"},
	{Value: "coda", Name: "Coda", Category: "Wiki", Description: "Documents, tables, and team workspace pages"},
	{Value: "canvas", Name: "Canvas", Category: "Wiki", Description: "Courses, pages, and assignments"},
	{Value: "notion", Name: "Notion", Category: "Wiki", Description: "Documentation, notes, and project pages"},
	{Value: "zulip", Name: "Zulip", Category: "Messaging", Description: "Chat messages and topic discussions"},
	{Value: "linear", Name: "Linear", Category: "TicketingAndTaskManagement", Description: "Engineering and product tickets"},
	{Value: "hubspot", Name: "HubSpot", Category: "Sales", Description: "CRM data, contacts, and deals"},
	{Value: "document360", Name: "Document360", Category: "Wiki", Description: "Knowledge base articles and documentation"},
	{Value: "gong", Name: "Gong", Category: "Sales", Description: "Sales call recordings and transcripts"},
	{Value: "google_sites", Name: "Google Sites", Category: "Wiki", Description: "Website pages and content"},
	{Value: "zendesk", Name: "Zendesk", Category: "TicketingAndTaskManagement", Description: "Support tickets and help articles"},
	{Value: "loopio", Name: "Loopio", Category: "Sales", Description: "RFP responses and content library"},
	{Value: "box", Name: "Box", Category: "Storage", Description: "Cloud-stored files and folders"},
	{Value: "dropbox", Name: "Dropbox", Category: "Storage", Description: "Cloud-stored files and folders"},
	{Value: "sharepoint", Name: "Sharepoint", Category: "Wiki", Description: "Documents and team sites"},
	{Value: "teams", Name: "Teams", Category: "Messaging", Description: "Chat messages and channels"},
	{Value: "salesforce", Name: "Salesforce", Category: "Sales", Description: "Sales data, accounts, and opportunities"},
	{Value: "discourse", Name: "Discourse", Category: "Wiki", Description: "Community forums and discussions"},
	{Value: "axero", Name: "Axero", Category: "Wiki", Description: "Employee engagement and intranet content"},
	{Value: "clickup", Name: "Clickup", Category: "TicketingAndTaskManagement", Description: "Tasks and project management"},
	{Value: "mediawiki", Name: "MediaWiki", Category: "Wiki", Description: "Wiki pages and articles"},
	{Value: "wikipedia", Name: "Wikipedia", Category: "Wiki", Description: "Encyclopedia articles"},
	{Value: "asana", Name: "Asana", Category: "TicketingAndTaskManagement", Description: "Tasks and project management"},
	{Value: "s3", Name: "S3", Category: "Storage", Description: "Cloud-stored files and objects"},
	{Value: "r2", Name: "R2", Category: "Storage", Description: "Cloud-stored files and objects"},
	{Value: "google_cloud_storage", Name: "Google Storage", Category: "Storage", Description: "Cloud-stored files and objects"},
	{Value: "oci_storage", Name: "Oracle Storage", Category: "Storage", Description: "Cloud-stored files and objects"},
	{Value: "xenforo", Name: "Xenforo", Category: "Messaging", Description: "Forum threads and discussions"},
	{Value: "not_applicable", Name: "Not Applicable", Category: "Other", Description: ""},
	{Value: "discord", Name: "Discord", Category: "Messaging", Description: "Chat messages and server discussions"},
	{Value: "freshdesk", Name: "Freshdesk", Category: "TicketingAndTaskManagement", Description: "Support tickets and customer queries"},
	{Value: "fireflies", Name: "Fireflies", Category: "Sales", Description: "Meeting transcripts and recordings"},
	{Value: "egnyte", Name: "Egnyte", Category: "Storage", Description: "Cloud-stored files and documents"},
	{Value: "airtable", Name: "Airtable", Category: "TicketingAndTaskManagement", Description: "Structured data and records"},
	{Value: "highspot", Name: "Highspot", Category: "Sales", Description: "Sales enablement content and pitches"},
	{Value: "drupal_wiki", Name: "Drupal Wiki", Category: "Wiki", Description: "Knowledge base pages and content"},
	{Value: "imap", Name: "Email", Category: "Messaging", Description: "Email messages and threads"},
	{Value: "bitbucket", Name: "Bitbucket", Category: "CodeRepository", Description: "Pull requests, issues, and code"},
	{Value: "testrail", Name: "TestRail", Category: "TicketingAndTaskManagement", Description: "Test cases and QA management"},
	{Value: "braintrust", Name: "Braintrust", Category: "Other", Description: "LLM eval experiments, datasets, and prompts"},
	{Value: "lumapps", Name: "LumApps", Category: "Wiki", Description: "Intranet pages, news, and content"},
	{Value: "mock_connector", Name: "Mock Connector", Category: "Other", Description: ""},
	{Value: "user_file", Name: "Uploaded Files", Category: "Other", Description: ""},
	{Value: "craft_file", Name: "Your Files", Category: "Other", Description: "", Internal: true},
}

// Sources returns all values of Onyx, in its order.
func Sources() []Source { return append([]Source(nil), sources[:]...) }

// LookupSource returns the source with a value of DocumentSource.
func LookupSource(value string) (Source, bool) {
	for _, s := range sources {
		if s.Value == value {
			return s, true
		}
	}
	return Source{}, false
}

// SourceName returns the display name of a source type; an unknown value is title-cased.
func SourceName(value string) string {
	value = strings.TrimPrefix(value, "federated_")
	if source, ok := LookupSource(value); ok {
		return source.Name
	}
	words := strings.FieldsFunc(value, func(r rune) bool { return r == '_' || r == '-' || unicode.IsSpace(r) })
	for i, word := range words {
		first, width := utf8.DecodeRuneInString(word)
		words[i] = string(unicode.ToTitle(first)) + word[width:]
	}
	return strings.Join(words, " ")
}

package theme

import "charm.land/lipgloss/v2"

// family is a group of source types with the same colour and glyph.
type family int

const (
	other family = iota
	chat
	wiki
	code
	mail
	tickets
	drive
	web
	crm
	calls
	file
	families // how many there are
)

// familyOf returns the family of a source type; other for an unknown one.
func familyOf(source string) family {
	switch source {
	case "slack", "teams", "discord", "zulip", "xenforo", "discourse":
		return chat
	case "gmail", "imap":
		return mail
	case "github", "gitlab", "bitbucket":
		return code
	case "confluence", "notion", "gitbook", "guru", "bookstack", "outline", "slab", "coda", "canvas", "document360", "axero",
		"mediawiki", "wikipedia", "drupal_wiki", "lumapps":
		return wiki
	case "jira", "linear", "asana", "clickup", "zendesk", "freshdesk", "productboard", "testrail", "airtable", "braintrust":
		return tickets
	case "google_drive", "sharepoint", "dropbox", "box", "egnyte", "s3", "r2", "google_cloud_storage", "oci_storage":
		return drive
	case "web", "google_sites":
		return web
	case "salesforce", "hubspot", "loopio", "highspot":
		return crm
	case "gong", "fireflies":
		return calls
	case "file", "user_file", "craft_file", "ingestion_api":
		return file
	}
	return other
}

// SourceStyle returns the style of a source type ("slack") for its name and glyph.
func (t Theme) SourceStyle(source string) lipgloss.Style {
	if len(t.sources) == 0 {
		return t.Source
	}
	return t.sources[familyOf(source)]
}

// SourceGlyph returns a mark of one column for a source type, so that sources differ without colour. Common fonts have
// these characters, and no terminal draws them wide.
func SourceGlyph(source string) string {
	switch familyOf(source) {
	case chat:
		return "#"
	case wiki:
		return "◊"
	case code:
		return "ƒ"
	case mail:
		return "@"
	case tickets:
		return "►"
	case drive:
		return "∆"
	case web:
		return "⌂"
	case crm:
		return "$"
	case calls:
		return "»"
	case file:
		return "▬"
	}
	return "◦"
}

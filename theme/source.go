package theme

import "sync"

// family is a group of source types with the same colour.
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

// mark is how a source type looks.
type mark struct {
	family family
	glyph  string // no two sources have the same
	ascii  string // for terminals without it; no two sources of the same of the terminal's own colours have the same
}

// marks are those of the known source types. The glyphs are one column wide in every terminal, and common fonts have
// them.
var marks = sync.OnceValue(func() map[string]mark {
	return map[string]mark{
		"slack":                {chat, "#", "#"},
		"teams":                {chat, "τ", "t"},
		"discord":              {chat, "δ", "d"},
		"zulip":                {chat, "ζ", "z"},
		"xenforo":              {chat, "ξ", "x"},
		"discourse":            {chat, "¢", "c"},
		"gmail":                {mail, "✉", "m"},
		"imap":                 {mail, "@", "@"},
		"github":               {code, "●", "g"},
		"gitlab":               {code, "ƒ", "l"},
		"bitbucket":            {code, "β", "b"},
		"confluence":           {wiki, "◆", "c"},
		"notion":               {wiki, "◇", "n"},
		"gitbook":              {wiki, "◈", "g"},
		"guru":                 {wiki, "γ", "u"},
		"bookstack":            {wiki, "≡", "b"},
		"outline":              {wiki, "◎", "o"},
		"slab":                 {wiki, "∥", "s"},
		"coda":                 {wiki, "κ", "k"},
		"canvas":               {wiki, "∷", "v"},
		"document360":          {wiki, "°", "3"},
		"axero":                {wiki, "α", "a"},
		"mediawiki":            {wiki, "ω", "m"},
		"wikipedia":            {wiki, "Ω", "W"},
		"drupal_wiki":          {wiki, "◊", "d"},
		"lumapps":              {wiki, "λ", "l"},
		"jira":                 {tickets, "▲", "j"},
		"linear":               {tickets, "▷", "l"},
		"asana":                {tickets, "∴", "a"},
		"clickup":              {tickets, "∧", "k"},
		"zendesk":              {tickets, "◁", "z"},
		"freshdesk":            {tickets, "φ", "f"},
		"productboard":         {tickets, "π", "p"},
		"testrail":             {tickets, "√", "r"},
		"airtable":             {tickets, "∎", "t"},
		"braintrust":           {tickets, "ψ", "b"},
		"google_drive":         {drive, "△", "d"},
		"sharepoint":           {drive, "σ", "p"},
		"dropbox":              {drive, "▽", "x"},
		"box":                  {drive, "□", "b"},
		"egnyte":               {drive, "η", "e"},
		"s3":                   {drive, "∫", "s"},
		"r2":                   {drive, "ρ", "r"},
		"google_cloud_storage": {drive, "∪", "g"},
		"oci_storage":          {drive, "○", "o"},
		"web":                  {web, "∞", "w"},
		"google_sites":         {web, "⌂", "i"},
		"salesforce":           {crm, "$", "$"},
		"hubspot":              {crm, "⊙", "h"},
		"loopio":               {crm, "∝", "o"},
		"highspot":             {crm, "θ", "i"},
		"gong":                 {calls, "»", ">"},
		"fireflies":            {calls, "¤", "y"},
		"file":                 {file, "▬", "="},
		"user_file":            {file, "▭", "u"},
		"craft_file":           {file, "▱", "c"},
		"ingestion_api":        {file, "∈", "+"},
		"not_applicable":       {other, "∅", "-"},
		"mock_connector":       {other, "µ", "k"},
	}
})

// markOf returns the mark of a source type.
func markOf(source string) mark {
	if m, known := marks()[source]; known {
		return m
	}
	return mark{other, "◦", "."}
}

// SourceStyle returns the style of a source type ("slack") for its name and glyph.
func (t Theme) SourceStyle(source string) Style {
	if len(t.sources) == 0 {
		return t.Source
	}
	return t.sources[markOf(source).family]
}

// PlaceStyle returns the style of the nth place of a library, from 0; there are as many as families of sources.
func (t Theme) PlaceStyle(n int) Style {
	if len(t.sources) == 0 {
		return t.Source
	}
	return t.sources[1+n%(int(families)-1)]
}

// SourceGlyph returns a mark of one column for a source type, so that sources differ without colour.
func (t Theme) SourceGlyph(source string) string {
	if t.ascii {
		return markOf(source).ascii
	}
	return markOf(source).glyph
}

package slack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/internal/text"
)

// deepestBlock bounds how deep blocks are nested; Slack's own nest some six deep.
const deepestBlock = 24

// Signs for what is left out, which no text contains: blocks that are nested deeper, and the rest of a text.
const tooDeep, tooLong = "\uE002", "\uE003"

// textKeys are the members of blocks that people read, in their order on the screen. Others are looked at for blocks
// only.
var textKeys = strings.Fields(`author_name pretext header title label subtitle text description fields body content
	details elements items tasks rows value accessory blocks output hint alt_text footer`)

// blocksOf returns the texts of blocks as Markdown, of kinds that are not known here as well.
func blocksOf(blocks json.RawMessage, names map[string]string) []string {
	var value any
	if len(blocks) == 0 || wire.Unmarshal(blocks, &value) != nil {
		return nil
	}
	return blockTexts(value, names, 0)
}

func blockTexts(value any, names map[string]string, depth int) (texts []string) {
	if depth > deepestBlock {
		return []string{tooDeep}
	}
	if list, isList := value.([]any); isList {
		for _, item := range list {
			texts = append(texts, blockTexts(item, names, depth+1)...)
		}
		return texts
	}
	block, isBlock := value.(map[string]any)
	if !isBlock {
		return nil
	}
	said := textIn(block, "text")
	switch textIn(block, "type") {
	case "mrkdwn":
		return []string{markdown(said, names)}
	case "plain_text", "raw_text":
		return []string{markdown(escape(said), names)}
	case "markdown":
		return []string{clipped(said)}
	case "rich_text_section":
		return []string{markdown(inline(block["elements"]), names)}
	case "rich_text_quote":
		quoted := markdown(inline(block["elements"]), names)
		return []string{"> " + strings.ReplaceAll(quoted, "\n", "\n> ")}
	case "rich_text_preformatted":
		return []string{fence + "\n" + strings.Trim(visible(plainInline(block["elements"])), "\n") + "\n" + fence}
	case "rich_text_list":
		return []string{listText(block, names, depth)}
	case "table", "data_table":
		return tableRows(block["rows"], names, depth)
	}
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(block)),
		func(key string) bool { return slices.Contains(textKeys, key) })
	for i, key := range slices.Concat(textKeys, others) {
		if said := textIn(block, key); said != "" && key != "value" && i < len(textKeys) {
			texts = append(texts, markdown(escape(said), names))
		}
		texts = append(texts, blockTexts(block[key], names, depth+1)...)
	}
	return texts
}

// textIn returns a member that is a text, or "".
func textIn(block map[string]any, key string) string {
	if number, isNumber := block[key].(float64); isNumber && key == "value" { // of a field of an attachment
		return fmt.Sprint(number)
	}
	said, _ := block[key].(string)
	return said
}

// listText returns a list of rich text, indented as it is in an outer one.
func listText(block map[string]any, names map[string]string, depth int) string {
	items, _ := block["elements"].([]any)
	indent, _ := block["indent"].(float64)
	var lines []string
	for i, item := range items {
		mark := "- "
		if textIn(block, "style") == "ordered" {
			mark = fmt.Sprintf("%d. ", i+1)
		}
		said := strings.Join(blockTexts(item, names, depth+1), "\n")
		lines = append(lines,
			strings.Repeat("  ", int(min(max(indent, 0), 8)))+mark+strings.ReplaceAll(said, "\n", "\n  "))
	}
	return strings.Join(lines, "\n")
}

func tableRows(value any, names map[string]string, depth int) (rows []string) {
	list, _ := value.([]any)
	for i, row := range list {
		cells, _ := row.([]any)
		if len(cells) == 0 {
			rows = append(rows, blockTexts(row, names, depth+1)...)
			continue
		}
		line := "|"
		for _, cell := range cells {
			said := text.OneLine(strings.Join(blockTexts(cell, names, depth+1), " "))
			line += " " + strings.ReplaceAll(said, "|", `\|`) + " |"
		}
		if i == 0 {
			line += "\n|" + strings.Repeat("---|", len(cells))
		}
		rows = append(rows, line)
	}
	return []string{strings.Join(rows, "\n")}
}

// joined joins what write makes of the elements of rich text.
func joined(value any, write func(element map[string]any) string) string {
	elements, _ := value.([]any)
	return strings.Join(exslices.CastFunc(elements, func(item any) string {
		element, _ := item.(map[string]any)
		return write(element)
	}), "")
}

// inline returns the elements of rich text as Slack's mrkdwn.
func inline(value any) string {
	return joined(value, func(element map[string]any) string {
		said := escape(textIn(element, "text"))
		switch kind := textIn(element, "type"); kind {
		case "text":
			style, _ := element["style"].(map[string]any)
			for _, mark := range [...]struct{ name, sign string }{{"code", "`"}, {"strike", "~"}, {"bold", "*"}} {
				if isOn, _ := style[mark.name].(bool); isOn && strings.TrimSpace(said) == said &&
					!strings.Contains(said, "\n") {
					said = mark.sign + said + mark.sign
				}
			}
			return said
		case "link":
			target := strings.NewReplacer("<", "", ">", "", "|", "%7C").Replace(textIn(element, "url"))
			return "<" + target + "|" + said + ">"
		case "user", "channel", "usergroup", "team":
			sign := map[string]string{"user": "@", "channel": "#", "usergroup": "!subteam^", "team": "@"}[kind]
			return "<" + sign + strings.Trim(textIn(element, kind+"_id"), "<>|") + ">"
		case "broadcast":
			return "<!" + strings.Trim(textIn(element, "range"), "<>|") + ">"
		case "emoji":
			return ":" + escape(textIn(element, "name")) + ":"
		}
		// A date, a colour, and what there will be.
		for _, key := range [...]string{"fallback", "value", "title", "name", "url"} {
			said = cmp.Or(said, escape(textIn(element, key)))
		}
		return said
	})
}

// plainInline returns the elements of rich text without marks.
func plainInline(value any) string {
	return joined(value, func(element map[string]any) string {
		return cmp.Or(textIn(element, "text"), textIn(element, "url"))
	})
}

// withBlocks puts the text of a message and its blocks together. What a person writes comes as both, and is shown
// once; what programs write has another text for notifications.
func withBlocks(said string, blocks []string) []string {
	inText := wordSet(said)
	fresh := slices.DeleteFunc(slices.Clone(blocks),
		func(block string) bool { return said != "" && repeats(block, inText) })
	switch {
	case len(fresh) == 0:
		return []string{said}
	case repeats(said, wordSet(strings.Join(blocks, " "))):
		return blocks
	}
	return append([]string{said}, fresh...)
}

func wordSet(said string) map[string]bool {
	set := map[string]bool{}
	for _, word := range words(said) {
		set[word] = true
	}
	return set
}

func words(said string) []string {
	return strings.FieldsFunc(strings.ToLower(said), func(r rune) bool { return !isWordRune(r) })
}

// repeats reports whether a text says what words say: up to a fifth may differ, as names of groups do.
func repeats(said string, known map[string]bool) bool {
	all, missing := words(said), 0
	for _, word := range all {
		if !known[word] {
			missing++
		}
	}
	return missing*5 <= len(all)
}

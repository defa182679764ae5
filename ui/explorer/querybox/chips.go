package querybox

import (
	"slices"
	"strings"

	"quarry/client"
)

// Chips returns the filters, in the order in which they were given. The slice must not be changed.
func (b *Box) Chips() []Chip {
	same := func(chip Chip, raw string) bool { return chip.Raw == raw }
	if !slices.EqualFunc(b.parsed, b.Attached(), same) {
		b.parsed = nil
		for _, raw := range b.Attached() {
			b.parsed = append(b.parsed, b.chip(raw))
		}
	}
	return b.parsed
}

func (b *Box) chip(raw string) Chip {
	chip := Chip{Raw: raw}
	if chips := client.ParseQuery(raw, b.now).Chips; len(chips) == 1 {
		chip.Field, chip.Value = chips[0].Field, chips[0].Value
	} else {
		field, value, _ := strings.Cut(raw, ":") // no filter any more, as time went by
		chip.Field, chip.Value = strings.ToLower(field), value
	}
	chip.Ignored = slices.Contains(b.ignored, chip.Field)
	return chip
}

// SetIgnored sets the fields that the server searched without, such as author; their chips say so.
func (b *Box) SetIgnored(fields []string) {
	if !slices.Equal(b.ignored, fields) {
		b.ignored, b.parsed = fields, nil
		b.version++
	}
}

// RemoveChip takes a filter away. An index that is out of range changes nothing.
func (b *Box) RemoveChip(i int) bool {
	filters := b.Attached()
	if i < 0 || i >= len(filters) {
		return false
	}
	return b.Replace(b.Text(), b.Cursor(), slices.Delete(slices.Clone(filters), i, i+1))
}

// SetFilters puts filters in place of all chips of some fields, where the first of those stood or at the end. The text
// stays as it is.
func (b *Box) SetFilters(fields, filters []string) bool {
	var kept []string
	place := -1
	for _, chip := range b.Chips() {
		if !slices.Contains(fields, chip.Field) {
			kept = append(kept, chip.Raw)
		} else if place < 0 {
			place = len(kept)
		}
	}
	if place < 0 {
		place = len(kept)
	}
	return b.Replace(b.Text(), b.Cursor(), slices.Insert(kept, place, filters...))
}

package documents

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/sqldb"
)

// Names are texts that many documents have, such as the path of their file, an author or a set: rows have numbers.
// Lists of them are stored like dictionaries, under the number of their first text, which is random. A number gets
// another name, or the same again, only if its list is lost. The seals of rows show that, as they are of what the lists
// begin with: what was found damaged never looks sound again before it is stored again.
const (
	firstName = 1 << 16 // above the ids of dictionaries
	endNames  = 2 << 16
	// shortestName to longestName bytes are what a name has, and fewestUses is how often a write has it.
	shortestName, longestName = 3, 255
	fewestUses                = 4
)

// names are those that are known.
type names struct {
	load func() error // the other ones; nil: there are none

	mutex   sync.RWMutex
	next    uint32 // the number behind the last one
	byText  map[string]*name
	numbers map[uint32]*name
}

// name is a text with a number, and what its list begins with.
type name struct {
	number     uint32
	text, list string
}

// add adds a list of names. Without any, it could not be read.
func (n *names) add(first uint32, list []string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.numbers == nil {
		n.byText, n.numbers = make(map[string]*name), make(map[uint32]*name)
	}
	for i := 1; i < len(list); i++ {
		one := &name{first + uint32(i), list[i], list[0]}
		n.byText[one.text], n.numbers[one.number] = one, one
	}
	n.next = max(n.next, first+uint32(max(1, len(list))))
}

// end returns the number behind the last one.
func (n *names) end() uint32 {
	n.mutex.RLock()
	defer n.mutex.RUnlock()
	return max(n.next, firstName)
}

// of returns the name with a text; nil: it is not known.
func (n *names) of(text string) *name {
	n.mutex.RLock()
	defer n.mutex.RUnlock()
	return n.byText[text]
}

// name returns the name with a number. It aborts with ErrPacked if it is lost.
func (n *names) name(number uint32) *name {
	known := func() *name {
		n.mutex.RLock()
		defer n.mutex.RUnlock()
		return n.numbers[number]
	}
	found := known()
	if found == nil && n.load != nil {
		guard.Check(n.load())
		found = known()
	}
	if found == nil {
		guard.Abort(fmt.Errorf("%w: one of its names is lost", ErrPacked))
	}
	return found
}

// abbreviate returns what a column has in the place of a text: "=" and its number, or the text, with another "=" before
// its own.
func (n *names) abbreviate(text string) string {
	if found := n.of(text); found != nil {
		return inID + strconv.Itoa(int(found.number-firstName))
	}
	if strings.HasPrefix(text, inID) {
		return inID + text
	}
	return text
}

// abbreviateLink is abbreviate for a link: the name is what it has up to its last slash, and ":" and the rest follow.
func (n *names) abbreviateLink(link string) string {
	base := baseOf(link)
	if found := n.of(base); found != nil {
		return inID + strconv.Itoa(int(found.number-firstName)) + ":" + link[len(base):]
	}
	return n.abbreviate(link)
}

func baseOf(link string) string { return link[:strings.LastIndexByte(link, '/')+1] }

// columns returns what columns may have in the place of a text: also what was stored before it had a number.
func columns(text string, abbreviate func(string) string) []any {
	short := abbreviate(text)
	if strings.HasPrefix(text, inID) {
		text = short // what it looks like is another one
	}
	return []any{text, short}
}

// expand undoes abbreviate and abbreviateLink. list is that of a name; empty: it is none. It aborts with ErrPacked, and
// leaves nothing, if the name is lost.
func (n *names) expand(column *string) (list string) {
	rest, ok := strings.CutPrefix(*column, inID)
	if !ok {
		return ""
	}
	digits, behind, _ := strings.Cut(rest, ":")
	if number, err := strconv.ParseUint(digits, 10, 16); err == nil {
		*column = ""
		found := n.name(firstName + uint32(number))
		*column = found.text + behind
		return found.list
	}
	if strings.HasPrefix(rest, inID) {
		*column = rest
	}
	return ""
}

// prepareNames stores the names that changes have and that have no number.
func (s *Tables) prepareNames(ctx context.Context, changes []Change) {
	known := &s.Packer.names
	if known.load == nil || len(changes) < fewestUses || known.end() >= endNames-1 {
		return
	}
	uses := counter{}
	for i := range changes {
		if put := changes[i].Put; put != nil {
			uses.add(put)
		}
	}
	maps.DeleteFunc(uses, func(text string, n int) bool {
		return n < fewestUses || len(text) < shortestName || len(text) > longestName
	})
	if len(known.unknown(uses)) == 0 {
		return
	}
	var first uint32
	var added []string
	guard.Check(s.Change(ctx, func(tx *sqldb.Tx) {
		guard.Check(s.loadNames(tx.Source))
		first, added = known.end(), known.unknown(uses)
		if added = added[:min(len(added), max(0, endNames-int(first)-1))]; len(added) == 0 {
			return
		}
		added = append([]string{rand.Text()}, added...)
		var list encoder
		listOf(&list, &added)
		body, err := s.Packer.packWith(s.Packer.plain, list.data)
		guard.Check(err)
		for _, table := range DictionaryTables() {
			tx.Insert(table+" (id, body)", [][]any{{first, Seal(body, dictionaryKey(first))}}, "")
		}
	}))
	if len(added) > 0 {
		known.add(first, added)
	}
}

// unknown returns the texts without a number, sorted.
func (n *names) unknown(texts counter) (unknown []string) {
	for text := range texts {
		if n.of(text) == nil {
			unknown = append(unknown, text)
		}
	}
	slices.Sort(unknown)
	return unknown
}

func listOf(c codec, names *[]string) { list(c, names, c.text) }

// loadNames reads the lists of names that are not known yet. What cannot be read is passed over: checks report it.
func (s *Tables) loadNames(from sqldb.Source) (err error) {
	defer guard.End(&err)
	tables, known := DictionaryTables(), &s.Packer.names
	next := known.end()
	for _, id := range sqldb.ColumnOf[uint32](from, "SELECT id FROM "+tables[0]+" WHERE id >= ? UNION SELECT id FROM "+
		tables[1]+" WHERE id >= ? ORDER BY id", next, next) {
		data, err := s.readDictionary(from, id)
		if err != nil && !Unreadable(err) {
			return err
		}
		var texts []string
		listOf(&decoder{data: data}, &texts)
		known.add(id, texts)
	}
	return nil
}

// counter is a codec that counts texts.
type counter map[string]int

func (c counter) text(value *string) { c[*value]++ }
func (counter) number(*int)          {}
func (counter) flag(*bool)           {}
func (counter) length(n int) int     { return n }

func (c counter) add(d *index.Document) {
	base := baseOf(d.Link)
	for _, text := range []*string{&d.Source, &d.Origin, &d.Type, &base} {
		c.text(text)
	}
	detail(c, d)
	for _, field := range optional(c, d) {
		field.apply()
	}
}

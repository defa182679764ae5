package explorer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/help"
	"charm.land/bubbles/v2/key"

	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/panel"
	"quarry/ui/passage"
)

func (m *Model) chipsLine() string {
	return m.box.ChipsView(m.width, m.theme, m.unknownValue())
}

// noteLines are what is to be noted above the results: why the last attempt failed, or what the server said.
func (m *Model) noteLines() []string {
	if m.failing() {
		if m.list.Len() == 0 { // the whole pane is about it
			return nil
		}
		return m.whyFailed(m.rects.List.W - 1)
	}
	lines := panel.Wrapped(m.unknownElsewhere(), 1, m.rects.List.W, m.theme.Warning)
	if notes := m.notes(); notes != "" {
		lines = append(lines, notes)
	}
	return lines
}

// unknownElsewhere is the unknown value of a filter where there is no room to name it beside the filters.
func (m *Model) unknownElsewhere() string {
	unknown := m.unknownValue()
	return unless(m.box.HasRoomBeside(m.width, unknown), unknown)
}

// summary describes the list, the running search or the failure in one line.
func (m *Model) summary() string {
	muted := m.theme.Muted
	if m.failing() { // the reason is below
		said := m.theme.Error.Render("✕ " + m.search.failure.when())
		if m.search.failure.isRefusal() {
			return said
		}
		return said + muted.Render(" · "+m.keys.keyOf("search-again", m.focus)+" retries")
	}
	if doing, shown := m.progress(); doing != "" { // cut at its end where there is too little room
		return m.theme.Warning.Render(doing) + muted.Render(" · "+m.keys.keyOf("back", m.focus)+" stops"+shown)
	}
	if unknown := m.unknownElsewhere(); unknown != "" && m.rects.Notes.H == 0 {
		return m.theme.Warning.Render(unknown)
	}
	if m.search.shown == nil {
		return muted.Render(m.invitation())
	}
	room := m.rects.ListFrame.W - 2*ruleEnds - len("  ")
	if title := min(paint.Width(m.listTitle()), leastListTitle); title > 0 {
		room -= title + len("    ")
	}
	facts := m.factsIn(room)
	if m.rects.Notes.H > 0 {
		return muted.Render(facts)
	}
	said, remarks := m.remarks() // there is no line for notes
	if failed := m.failedParts(); len(failed) > 0 {
		remarks = []string{"! " + m.failedText(failed, m.rects.ListFrame.W-paint.Width(facts)-len("!       "))}
	}
	if said = append(said, remarks...); len(said) == 0 {
		return muted.Render(facts)
	}
	shown := strings.Replace(strings.Join(said, " · "), "no document has ", "no ", 1)
	return m.theme.Warning.Render(shown) + muted.Render(" · "+facts)
}

// progress is what a slow search does now, and for how many seconds, and what is shown meanwhile.
func (m *Model) progress() (doing, shown string) {
	s := m.search.running
	if s == nil || !s.slow {
		return "", ""
	}
	switch {
	case m.search.shown.of(s):
		documents, _, _ := m.list.Found()
		shown = " · " + text.Count(documents, "document") + " so far"
	case m.search.old:
		shown = " · " + m.former()
	}
	return stageText(s.stage) + panel.Seconds(s.watch.Elapsed()), shown
}

// stageText says what a stage of the pipeline does. Most of them search.
func stageText(stage string) string {
	switch stage {
	case "understand":
		return "rewriting the query"
	case "select":
		return "selecting the best passages"
	}
	return "searching"
}

// former names the query whose results are shown in place of those for the query in the box.
func (m *Model) former() string {
	return "results for “" + paint.Line(m.box.Readable(m.search.shown.text)) + "”"
}

// leastListTitle is how much of the name of the results stays beside what is said about them, in columns.
const leastListTitle = len("Results by source")

// fact is a part of the summary.
type fact struct {
	text  string
	brief string // the same in fewer words; empty: there are none
	spare bool   // it gives way where there is too little room
}

// factsIn joins the facts about the shown answer that there is room for: the last spare ones give way first, then
// words.
func (m *Model) factsIn(room int) string {
	facts := m.facts()
	join := func() string {
		return strings.Join(exslices.CastFunc(facts, func(f fact) string { return f.text }), " · ")
	}
	for i := len(facts) - 1; i >= 0 && paint.Width(join()) > room; i-- {
		if facts[i].spare {
			facts = slices.Delete(facts, i, i+1)
		}
	}
	for i := range facts {
		if paint.Width(join()) > room {
			facts[i].text = cmp.Or(facts[i].brief, facts[i].text)
		}
	}
	return join()
}

// facts returns the parts of the summary of the shown answer.
func (m *Model) facts() []fact {
	shown := m.search.shown
	response := shown.response
	if shown.ofAnswer {
		return []fact{{text: text.Count(len(response.Results), "passage") + " from " + shown.from}}
	}
	found := m.found()
	switch {
	case m.search.old && m.focus == InBox && m.target.Kind == Remote && !m.typingSearches():
		return []fact{{text: m.keys.keyOf("search", InBox) + " searches"}, found}
	case m.search.old:
		return []fact{found}
	case m.outdated():
		return []fact{found, {text: "library changed · " + m.keys.keyOf("search-again", InList) + " searches again"}}
	}
	facts := []fact{found}
	add := func(text string, spare bool) { facts = append(facts, fact{text: text, spare: spare}) }
	if shown.endsInPrefix() {
		facts = append(facts, fact{text: "last word as prefix", brief: "prefix"})
	}
	if beside := elsewhere(response.Results); beside != "" {
		add(beside, false)
	}
	switch {
	case shown.instant && m.target.Kind == Remote: // what changes with every key is sent with every key
	case shown.remembered:
		add("cached", true)
	case !shown.provisional:
		add(text.Duration(m.searchTime()), true)
	}
	switch {
	case len(shown.wire.MessageHistory) > 0 && withoutModel(response):
		add("without the conversation: no model", false)
	case len(shown.wire.MessageHistory) > 0:
		add("follow-up", false)
	}
	if len(response.Queries) > 1 {
		add(text.Count(len(response.Queries), "query"), true)
	}
	// Else the better ones are there in a moment.
	if shown.provisional && (m.search.running == nil || m.search.running.slow) {
		add("provisional", false)
	}
	return facts
}

// elsewhere counts the documents from other profiles, which no total counts: "10 from acme".
func elsewhere(results []wire.SearchResult) string {
	documents, origins := map[string]bool{}, map[string]int{}
	matching := false
	for _, r := range results {
		matching = matching || r.Matches
		if of := passage.DocumentKey(r); !r.Matches && passage.Lack(r) == "" && !documents[of] {
			documents[of] = true
			origins[r.Origin]++
		}
	}
	if !matching || len(origins) == 0 {
		return ""
	}
	counted := func(origin string) string { return text.Number(origins[origin]) + " from " + paint.Line(origin) }
	return strings.Join(exslices.CastFunc(slices.Sorted(maps.Keys(origins)), counted), " · ")
}

// found counts the documents that match, as the line of sources does. Where the list does not lead to all of them, it
// says how many it has.
func (m *Model) found() fact {
	s := m.search.shown
	listed, all := m.reachable()
	matching := passage.Total(s.response)
	if s.response.TotalMatches <= listed {
		matching = text.Count(listed, "document")
	}
	order := orderName(s.wire.Sort)
	if order == "" && s.wire.Lists() {
		order = orderName(wire.SortNewest)
	}
	switch few := strings.TrimSuffix(strings.TrimSuffix(matching, "s"), " document"); {
	case all && order != "":
		return fact{text: matching + ", " + order}
	case all:
		return fact{text: matching, brief: few}
	default:
		best := strings.TrimSuffix(cmp.Or(order, "best"), " first")
		return fact{text: fmt.Sprintf("%s %s · %s match", best, text.Count(listed, "document"), few),
			brief: fmt.Sprintf("%s %s · %s match", best, text.Number(listed), few)}
	}
}

// reachable returns how many matching documents the list leads to, and whether these are all.
func (m *Model) reachable() (documents int, all bool) {
	listed, _, _ := m.list.Found()
	total := m.search.shown.response.TotalMatches
	if total > listed && total <= maxRows && m.pages() {
		return total, true
	}
	return listed, total <= listed
}

// position is which document of the list is selected: "3 of 14".
func (m *Model) position() string {
	_, place, further := m.list.Found()
	documents, _ := m.reachable()
	switch {
	case m.search.shown.ofAnswer: // which are passages, several of a document
		place, documents = m.list.Row()+1, m.list.Len()
	case further > 0:
		return "further result " + text.Number(further)
	case place == 0: // of another profile
		return ""
	}
	return fmt.Sprintf("%s of %s", text.Number(place), text.Number(documents))
}

// searchTime is how long the shown search took: at a library what its stages add up to, at a server as long as its
// answer was waited for.
func (m *Model) searchTime() time.Duration {
	s := m.search.shown
	if m.target.Kind == Remote || len(s.response.Stages) == 0 {
		return s.took
	}
	sum := 0.0
	for _, stage := range s.response.Stages {
		sum += stage.MS
	}
	return time.Duration(sum * float64(time.Millisecond))
}

// bar is the last line: what was done, or the keys that act here.
func (m *Model) bar() string {
	if m.message.text != "" {
		style := []theme.Style{info: m.theme.Text, done: m.theme.Success, warned: m.theme.Warning,
			failed: m.theme.Error}
		said := style[m.message.level].Render(paint.Line(m.message.text))
		return paint.Fit(" "+paint.Hyperlink(m.message.link, said), m.width)
	}
	marked := m.meaningProgress() + m.markedCount()
	room := m.width - paint.Width(marked)
	if r, _ := m.overlayRect(); m.overlay() != 0 && panel.Framed(r.W, r.H) {
		return paint.Blank(room) + marked // the frame has the keys
	}
	return paint.Fit(" "+m.hints(m.place(), room-2), room) + marked
}

// narrow is how many columns the last line has at least to say more than keys and numbers.
const narrow = 60

// meaningProgress is how far the vectors of the library are while they are made: "meaning 62 %, 4 min".
func (m *Model) meaningProgress() string {
	at := m.conn.meaning
	if at.State != wire.MeaningRunning || m.width < narrow {
		return ""
	}
	progress := fmt.Sprintf("meaning %d %%", 100*at.Done/max(1, at.Total))
	if at.SecondsLeft > 0 {
		progress += ", " + text.Left(at.SecondsLeft)
	}
	return m.theme.Muted.Render(progress) + " "
}

// markedCount is the size of the collection, for the end of the last line.
func (m *Model) markedCount() string {
	n := len(m.marks())
	switch {
	case n == 0:
		return ""
	case m.width < narrow:
		return m.theme.Number.Render("● "+text.Number(n)) + " "
	}
	return m.theme.Number.Render("● "+text.Number(n)+" marked") + " "
}

// hints are the keys of a place that there is room for, without those that cannot act now. The key to all others comes
// last and, outside of panels, always stays. They are chosen before Bubbles' help draws them: once less than two
// columns are left, it draws all that follow.
func (m *Model) hints(place Place, room int) string {
	bar := help.Model{ShortSeparator: "   ",
		Styles: help.Styles{ShortKey: *m.theme.Key.Style, ShortDesc: *m.theme.Muted.Style}}
	columns := func(b key.Binding) int { return paint.Width(b.Help().Key + " " + b.Help().Desc + bar.ShortSeparator) }
	room += len(bar.ShortSeparator)
	var shown, last []key.Binding
	label := "all keys"
	if m.width < narrow && len(m.marks()) > 0 {
		label = "keys"
	}
	all := m.keys.named("actions").hint(place, label)
	if all.Enabled() && place&InOverlays == 0 { // those of a panel are few
		last, room = []key.Binding{all}, room-columns(all)
	}
	for _, b := range m.keys.bindings {
		if b.Help().Desc == "" || b.In&place == 0 || b.Action == "actions" || b.Disabled(m) != "" {
			continue
		}
		label := b.Help().Desc
		switch {
		case m.overlay() != 0 && b.Action == "close":
			label = m.top().Escape()
		case place == InPrompt && b.Action == "accept":
			label = cmp.Or(m.prompt.does, label)
		case b.Action == "next" && (place != InBox || !m.atHome()),
			b.Action == "set-up" && (!m.atHome() || m.target.Kind == Sample): // whose title says so
			continue
		case b.Action == "answer" && m.asksOverMarked() && len(m.markedShown()) > 0:
			label = "ask marked"
		}
		hint := b.hint(place, label)
		if !hint.Enabled() {
			continue
		}
		if room -= columns(hint); room < 0 {
			break
		}
		shown = append(shown, hint)
	}
	if len(last) == 0 && all.Enabled() && place != InActions && room >= columns(all) {
		last = []key.Binding{all}
	}
	return bar.ShortHelpView(append(shown, last...))
}

// notes are what the server said about the search, in one line: first about words that no document has, then what
// failed, as briefly as there is room for.
func (m *Model) notes() string {
	if m.search.shown == nil {
		return ""
	}
	said, remarks := m.remarks()
	if failed := m.failedParts(); len(failed) > 0 {
		said = append(said, m.failedText(failed, m.rects.List.W-paint.Width(strings.Join(append(said, " ! "), " · "))))
	}
	if said = append(said, remarks...); len(said) == 0 {
		return ""
	}
	return m.theme.Warning.Render(" ! " + strings.Join(said, " · "))
}

// remarks are the notes that are no failures: first those about words that no document has.
func (m *Model) remarks() (missing, said []string) {
	for _, filter := range m.search.shown.query.Unread {
		said = append(said, "`"+paint.Line(filter)+"` is not a valid filter; searched as text")
	}
	for _, note := range m.search.shown.response.Notes {
		switch {
		case note.Code == wire.NoteTypoCorrected || note.Code == wire.NoteWordMissing:
			missing = append(missing, brief(note))
		// Normal for a library; shown by the chip.
		case note.Code != wire.NoteNoModel && ignoredField(note) == "" && !isFailure(note):
			said = append(said, brief(note))
		}
	}
	return missing, said
}

// brief is as much of a note as one line may need.
func brief(note wire.Note) string { return paint.Line(text.Clip(note.Text, 400)) }

// isFailure reports whether a part of the search failed, which the rest continued without.
func isFailure(note wire.Note) bool {
	return slices.Contains([]string{wire.NoteStageFailed, wire.NoteStageTimeout, wire.NoteSourceFailed,
		wire.NoteDamaged}, note.Code)
}

// failedParts name what the search whose results are shown went on without, each in a few words.
func (m *Model) failedParts() []string {
	response := m.search.shown.response
	var failed, sources []string
	for _, note := range response.Notes {
		switch {
		case note.Code == wire.NoteSourceFailed:
			sources = append(sources, gist(brief(note)))
		case isFailure(note):
			failed = append(failed, gist(brief(note)))
		}
	}
	if failed = append(sources, failed...); len(failed) > 0 { // first whose results are missing
		return counting(failed)
	}
	for _, stage := range response.Stages { // servers without notes
		if stage.Outcome == wire.OutcomeFailed || stage.Outcome == wire.OutcomeTimeout {
			failed = append(failed, paint.Line(stage.Name)+" failed")
		}
	}
	return failed
}

// counting replaces repeated texts by one with its count.
func counting(texts []string) []string {
	often := map[string]int{}
	var counted []string
	for _, t := range texts {
		if often[t]++; often[t] == 1 {
			counted = append(counted, t)
		}
	}
	for i, t := range counted {
		if often[t] > 1 {
			counted[i] = fmt.Sprintf("%s (%d times)", t, often[t])
		}
	}
	return counted
}

// gist is a note without its consequences, which follow a colon, and without its particulars, in parentheses; it
// shortens the wording of quarry's own server.
func gist(note string) string {
	for _, mark := range []string{": ", " (", "; "} {
		if at := strings.Index(note, mark); at > 0 {
			note = note[:at]
		}
	}
	return strings.NewReplacer("the language model", "the model", "could not be searched", "failed",
		"did not answer in time", "was too late").Replace(note)
}

// failedText names as many of the parts that failed as there is room for, and the key that explains the rest.
func (m *Model) failedText(failed []string, room int) string {
	why := ""
	if key := m.keys.keyOf("why", m.focus); key != "" {
		why = " · " + key + " why"
	}
	for n := len(failed); n > 0; n-- {
		named := strings.Join(failed[:n], " · ")
		if n < len(failed) {
			named += fmt.Sprintf(" · %d more", len(failed)-n)
		}
		if named += why; paint.Width(named) <= room {
			return named
		}
	}
	return text.Count(len(failed), "part") + " failed" + why
}

package ingest

// intake is a file on its way into the library.
type intake struct {
	path  string
	whole bool                     // it is one document, not lines of them
	group func(origin string) bool // reports whether a document belongs to the file's root
	came  map[string]int           // the lines of its documents by id, without those of other owners
	read  bool                     // it was read to its end, so that base is final
	base  fileState                // without what depends on came and on owned

	owned   badLines // lines whose documents belong to others
	left    bool     // documents were left out that were removed by hand
	counted bool     // among the files that have documents
	told    bool     // that nothing of it is stored
}

// finish notes the last part of the file.
func (in *intake) finish(t *task, last part) {
	in.read = true
	in.base = fileState{
		print: last.print, config: t.target.config(t.file), hash: last.hash, reason: last.reason,
		ownDates: last.ownDates, lines: last.lines, encoding: last.encoding,
	}
}

// state is what is to be remembered of the file, as far as it was written.
func (in *intake) state() fileState {
	state := in.base
	state.documents, state.foreign = len(in.came), in.owned.count
	state.lines.count += in.owned.count
	if in.whole {
		state.lines = badLines{}
	} else {
		reasons := append(state.lines.reasons[:len(state.lines.reasons):len(state.lines.reasons)], in.owned.reasons...)
		state.lines.reasons = reasons[:min(len(reasons), mostRemembered)]
	}
	if in.left {
		state.flag = flagLeft
	}
	if state.documents == 0 && state.reason == "" && state.foreign > 0 {
		state.reason = in.owned.reasons[0]
	}
	return state
}

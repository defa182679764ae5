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
	in.base = last.fileState
	in.base.Config = t.target.config(t.file)
}

// state is what is to be remembered of the file, as far as it was written.
func (in *intake) state() fileState {
	state := in.base
	state.Documents, state.Foreign = len(in.came), in.owned.Count
	state.Lines.Count += in.owned.Count
	if in.whole {
		state.Lines = badLines{}
	} else {
		reasons := append(state.Lines.Reasons[:len(state.Lines.Reasons):len(state.Lines.Reasons)], in.owned.Reasons...)
		state.Lines.Reasons = reasons[:min(len(reasons), mostRemembered)]
	}
	if in.left {
		state.Flag = flagLeft
	}
	if state.Documents == 0 && state.Reason == "" && state.Foreign > 0 {
		state.Reason = in.owned.Reasons[0]
	}
	return state
}

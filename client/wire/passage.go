package wire

// The profiles of a passage, beside that of the API. Saved passages have one in package state.
var (
	// BasicResult is what every server sends, in the words of Onyx's CLI.
	BasicResult = NewProfile[SearchResult](`citation_id title url=link source_type content updated_at origin?`)

	// AgentResult is for programs: what says something.
	AgentResult = NewProfile[SearchResult](`citation_id title url=link source_type content updated_at ref? short_ref?
		citation? document_id? chunk_start chunk_end chunk_count heading_path? authors? metadata? document_type?
		place? language? score selected! lines? bytes? also_in? also_in_count? matches! missing? found_by? newer?
		origin?`)

	// Full explains the search, too.
	FullResult = NewProfile[SearchResult](`citation_id title url=link source_type content updated_at ref short_ref
		citation document_id chunk_start chunk_end chunk_count heading_path authors metadata document_type place
		language score selected lines bytes also_in also_in_count matches! missing? found_by? newer? chunk_ind blurb
		highlights best_passage ranks origin`)

	// ToolResult is for models that call tools. Its content is an excerpt.
	ToolResult = NewProfile[SearchResult](`citation_id? title url=link? source_type updated_at?() place? language?
		ref?(what the read tool takes) citation? heading_path? lines?
		excerpt=content(the part of the passage that matches best) also_in? matches! missing? found_by? newer?
		origin?()`)

	// ModelResult is a selected result as a language model reads it; CandidateResult is one to select from, by its
	// section_id; EvidenceResult is one to answer from.
	ModelResult = NewProfile[SearchResult](`document=citation_id+ title source_type content updated_at authors?
		metadata?`)
	CandidateResult = NewProfile[SearchResult](`section_id=citation_id+ title updated_at? authors? source_type
		metadata? content`)
	EvidenceResult = NewProfile[SearchResult](`document=citation_id+ title source=source_type updated_at? authors?
		content`)

	// SandboxResult is a result of the first design of the search of sandboxes.
	SandboxResult = NewProfile[SearchResult](`citation_id+ document_id chunk_ind title blurb link source_type score
		updated_at`)

	// CitedResult is a document that an answer cites.
	CitedResult = NewProfile[SearchResult](`citation_id+(number in the answer) title url=link source_type updated_at
		document_id citation?`)
)

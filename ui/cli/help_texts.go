package cli

func rootHelp() help {
	return help{
		short: "explore company knowledge from the terminal",
		purpose: `Searches an Onyx server, a library of files on this machine, or the bundled sample
library, for ranked, cited passages. On a terminal it opens the explorer, with the query
already running if there is one; the sample library stands in until something else is set
up. Bare words are a query: quarry how do we deploy. The flags of search that narrow become
filters of that query (--source slack is source:slack), and --limit is how many results are
asked for; its other flags, --json and --max-output ask for print instead. Without a
terminal, quarry how do we deploy is quarry search "how do we deploy", and takes the same
flags. After -- every word belongs to the query, also one that is the name of a command.`,
		not: `For an answer in sentences, use quarry ask: results are passages to read and to cite, nothing
is generated. To print results on a terminal, use quarry search.`,
		output: `Without a terminal, results on standard output as JSON, without colours, cut at
--max-output and still valid JSON; notes, progress and errors on standard error; without a
query, this help. On a terminal, the explorer: F1 lists its keys, q or ctrl+c leaves with
exit code 0; a signal ends it with 130. Every error is two lines: what failed, and what to do.`,
		exits: remoteExits(),
		examples: []string{
			`quarry --sample how do we roll back a deploy`,
			`quarry add . && quarry search "error budget" --json`,
		},
	}
}

func searchHelp() help {
	return help{
		short: "search and print ranked, cited passages",
		purpose: `Searches for one question, or for up to three at the same time, each on its own. Write a
question in plain words, in quotes. Inside a query, "an exact phrase" and -word work, and
the filters source:slack,github since:2026-01-01 until:2026-06-30 within:30d agent:"Eng"
set:handbook tag:team=infra author:kim type:pdf. Filters of the query and of the flags add
up; where both name a date, the flag's holds. - reads queries from standard input, a line
each. --also searches other profiles in one go; "origin" tells where each result is from.`,
		not: `To read a whole document, use quarry read with a result's "ref". To see what can be named
in filters, use quarry sources, document-sets, tags and agents. A source that is not
listed there is not connected: searching for it finds nothing.`,
		output: `JSON (default without a terminal): {"results":[{citation_id, title, url, source_type,
content, updated_at, ref, document_id, heading_path, authors, metadata, …}], "searched":[…],
"total_matches", "notes":[…], "schema":1}; several queries: {"searches":[{"query",
"results" or "error"}]}. Keys that a server does not tell are left out. Two results with
one citation_id are passages of one document. What exceeds --max-output is cut: whole
results from the end, then content; "truncation" tells the counts and where the complete
copy lies.
ndjson: a line a result with "type":"result", last a line with "type":"summary".
tsv: citation, title, source, date, link, ref, query; no header.
md: the whole passages as markdown. text: for reading on a terminal.`,
		exits: remoteExits(),
		examples: []string{
			`quarry search --sample "how do we roll back a deploy"`,
			`quarry search --sample "on-call rotation" "incident review" --days 365 --json`,
		},
	}
}

func askHelp() help {
	return help{
		short: "answer a question out of what is found",
		purpose: `Searches as quarry search does for the question, and lets the server's language model
answer out of what was found, with the numbers of the documents behind what it says. The
answer is printed as it is written; the documents that it cites are listed at the end. What
is piped in is added to the question behind a blank line (10 MB at most): quarry ask "what
went wrong here?" < build.log. A pipe on which nothing comes for 2 seconds is passed over.

Filters inside the question narrow what is searched, as in quarry search: source:slack,github
since:2026-01-01 until: within:30d agent:"Eng" set:handbook tag:team=infra author: type:pdf,
"exact phrase" and -word. In what is piped in nothing is a filter.

The conversation is kept by the server under its id, for --session and for the explorer;
with private: true in the configuration it is incognito: never listed, never stored.`,
		not: `To judge for yourself, or to work with passages: quarry search generates nothing, and needs no
language model. An answer can be wrong where its documents are; read them with quarry read.`,
		output: `Text: the answer as Markdown with citations like [1], then "Sources:" and a line for each
that is cited: [1] title — link. On a terminal it is wrapped, and what goes on is told on
standard error until the answer begins. Over --max-output text is cut at a whole character,
and the last lines say how long it is and where the complete copy lies.
--json: a line an event, {"type", "event"}: session_created, message_id_info,
search_tool_start, search_tool_queries_delta, search_tool_filter_delta,
search_tool_documents_delta, message_start, message_delta, citation_info, section_end,
stop, error, unknown; last summary with {answer, sources:[{citation_id, title, url,
source_type, updated_at, document_id}], documents_found, chat_session_id, message_id,
complete, searched, schema:1}. It is cut only if --max-output is given: whole lines.
Ctrl-C prints what there is and exits 130. Without a language model: exit code 3 on this
machine, 2 from a server, and the search to run instead.`,
		exits: remoteExits(),
		examples: []string{
			`quarry ask "how do we roll back a deploy?"`,
			`git diff | quarry ask --prompt "which of our guidelines does this change touch?" --json`,
		},
	}
}

func readHelp() help {
	return help{
		short: "print a passage or a whole document",
		purpose: `Prints the passage that a result's "ref" names (<document_id>#<number>), with --around K
pieces before and after, or the whole document when the reference is a document's id alone.
With --from, the reference is the citation number of a saved search.`,
		not: `To find something, search first. A bare Onyx server does not say which document a result
comes from: open the result's link instead (exit code 9 names it).`,
		output: `Markdown; with --json {"document":{id, title, link, source_type, updated_at, authors,
chunk_count, outline}, "chunks":[{chunk_ind, content, heading_path}], "whole_document",
"searched", "schema":1}.`,
		exits: remoteExits(),
		examples: []string{
			`quarry search --sample "roll back a deploy" --json > found.json && quarry read --sample --from found.json 1`,
			`quarry search --sample "roll back a deploy" --json | quarry read --sample --from - 1 --json`,
		},
	}
}

func sourcesHelp() help {
	return help{
		short: "list the sources that can be searched",
		purpose: `Lists the systems whose documents can be found, with descriptions and, where the server
counts, numbers of documents. The values are what --source and source: take.`,
		not: `To search them: a source without a count may still have results.`,
		output: `A table on a terminal, else JSON: [{source, name, description, documents, status, listed_by,
origin}]. listed_by tells how sure the list is: connected (to you), workspace (maybe not to
you), tags (there may be more), known (the server told nothing).`,
		exits:    remoteExits(),
		examples: []string{`quarry sources --sample`, `quarry sources --sample --json`},
	}
}

func agentsHelp() help {
	return help{
		short: "list the agents that can be searched as",
		purpose: `Lists the agents of the server. An agent narrows a search to its own knowledge: --agent-id
takes its number, --agent and agent: its name.`,
		not: `To put a question to one: quarry ask --agent NAME.`,
		output: `A table on a terminal, else JSON: [{id, name, description, is_default_persona, is_listed,
document_sets, knowledge_sources, origin}]; [] for none.`,
		exits:    remoteExits(),
		examples: []string{`quarry agents --sample`, `quarry agents --sample --json`},
	}
}

func documentSetsHelp() help {
	return help{
		short:   "list the document sets that can be searched",
		purpose: `Lists the named collections of documents. --document-set and set: take their names.`,
		not:     `To make one: quarry add PATH --set NAME.`,
		output: `A table on a terminal, else JSON: [{id, name, description, sources, documents, is_public,
origin}]; [] for none.`,
		exits:    remoteExits(),
		examples: []string{`quarry document-sets --sample`, `quarry document-sets --sample --json`},
	}
}

func tagsHelp() help {
	return help{
		short: "list the tags that can be searched for",
		purpose: `Lists keys and values of the documents' metadata, all or those that begin with a prefix of
a key, a value, or key=value. --tag and tag: take them as key=value.`,
		not:      `To list documents: search with --tag.`,
		output:   `A table on a terminal, else JSON: [{key, value, source, documents, origin}]; [] for none.`,
		exits:    remoteExits(),
		examples: []string{`quarry tags --sample`, `quarry tags team --sample --json`},
	}
}

func addHelp() help {
	return help{
		short: "add files to the local library",
		purpose: `Indexes files and folders of this machine, so that they can be searched. It reads Markdown
(.md .markdown .mdx), text (.txt .text .rst .org .log, and files without an extension), HTML
(.html .htm), and JSON Lines of documents as Onyx's ingestion API takes them (.jsonl .ndjson).
All other files are listed as skipped, with the reason, and never stop the rest; files that
are named one by one and of which none can be read are an error. What is there and did not
change is not read again; .gitignore and .quarryignore are honoured, names that begin with a
dot and links out of the folder are passed over. Ctrl-C keeps what was stored.`,
		not: `To add to a server: quarry add always works on a library of this machine, the usual one or
that of --library DIR. To read changes of what was added before, use quarry sync.`,
		output: `Progress on standard error, one line about what changed on standard output; with --json
NDJSON: {"type":"progress",done,total,bytes,path}, a {"type":"skipped",path,reason} a file, with
an embedding model {"type":"embedding",done,total,refused,reason} in passages, last
{"type":"done",added,updated,removed,unchanged,skipped,searches_go_to}.`,
		exits:    []int{ExitNotAvailable},
		examples: []string{`quarry add ~/notes`, `quarry add . --as github --set handbook --json`},
	}
}

func removeHelp() help {
	return help{
		short: "take documents out of the local library",
		purpose: `Removes from the library what a path or a document id names, a document set (--set), or a
source (--source). Files on the disk are never touched.`,
		not:    `To delete files: the library only forgets them. Deleted files leave with the next quarry sync.`,
		output: `One line about what changed; with --json NDJSON as of quarry add.`,
		exits:  []int{ExitNotAvailable},
		examples: []string{
			`quarry remove ~/notes/old`,
			`quarry remove --set handbook --json`,
		},
	}
}

func syncHelp() help {
	return help{
		short: "read again what was added before",
		purpose: `Goes through everything that was added, or only the given paths, and takes up what
changed, appeared or vanished. With --watch it stays, follows the file system, and does so
again after every change; what another process adds later is followed from the next start.`,
		not:      `To add something new: quarry add.`,
		output:   `One line about what changed; with --json NDJSON as of quarry add.`,
		exits:    []int{ExitNotAvailable},
		examples: []string{`quarry sync`, `quarry sync ~/notes --watch`},
	}
}

func statusHelp() help {
	return help{
		short: "tell where searches go and what the local library holds",
		purpose: `Tells which server or library a search would go to, which rule decided that, and what the
library of this machine holds. Sends nothing.`,
		not: `To test a connection: quarry validate-config.`,
		output: `Text on a terminal, else JSON: {"target":{kind, profile, server_url, library, rule,
reason},
"target_error", "library":{path, exists, documents, chunks, bytes, version, roots},
"schema":1}.`,
		exits:    []int{ExitNotConfigured},
		examples: []string{`quarry status`, `quarry status --json`},
	}
}

func serveHelp() help {
	return help{
		short: "serve the explorer over SSH, the search API over HTTP, or both",
		purpose: `Over HTTP: the library of this machine, or that of --library DIR, with the API of Onyx. Every
request needs a token, also on this machine; quarry admin token add makes the first one.
Over SSH: the explorer for people, and search, ask, read and the lists as JSON for scripts,
on that library or, without --http, wherever a search would go (also --server URL and
--profile NAME, where each visitor brings a token of that server). At least one of
--ssh-keys, --ssh-token and --ssh-open says who may come in.`,
		not: `To search alone: quarry search needs no server. Put a proxy with TLS before --http where
others can listen.`,
		output: `The addresses and the host key's fingerprint on standard error once it listens, then a line
for every request, search and session. Runs until Ctrl-C and finishes what it began.`,
		exits:    []int{ExitNotConfigured},
		examples: []string{`quarry serve --http 127.0.0.1:8080 --rate 60/h`, `quarry serve --ssh :2222 --ssh-open --sample`},
	}
}

func configureHelp() help {
	return help{
		short: "set up where to search, step by step",
		purpose: `Asks for a server and a token, tests the connection, and saves them as a profile (of
--profile NAME) that becomes the active one. Or adds a folder of this machine instead.`,
		not: `Without a terminal: set ONYX_SERVER_URL and ONYX_PAT, or write the configuration file.`,
		output: `Questions on standard error, nothing on standard output. The token goes to the system's
keyring, or to a file that only you can read.`,
		exits:    remoteExits(),
		examples: []string{`quarry configure`, `quarry configure --profile work --server https://onyx.acme.com`},
	}
}

func validateHelp() help {
	return help{
		short: "test the configuration and the connection",
		purpose: `Tries one step after the other: configuration, server, reachability, identity, versions,
what the token may do, and that search itself answers (which costs no model call). Slack is
asked for whose token it is, and for a word.`,
		not: `To see where searches go without sending anything: quarry status.`,
		output: `Lines a person can read; with --json {"ok", "exit_code", "config", "server", "version",
"email", "user", "permissions", "steps":[{name, outcome, detail, remedy}], "schema":1}. The exit
code says which step failed.`,
		exits:    remoteExits(),
		examples: []string{`quarry validate-config`, `quarry validate-config --sample --json`},
	}
}

func versionHelp() help {
	return help{
		short: "print the versions of client and server",
		purpose: `Prints the version of this program and of the server that searches go to. Waits at most 5
seconds and always succeeds.`,
		not: `To test a connection: quarry validate-config.`,
		output: `Client version: …, Server version: …; with --json {"client_version", "server_version",
"schema":1}.`,
		examples: []string{`quarry version`, `quarry --version`},
	}
}

func completionHelp() help {
	return help{
		short: "print a script that completes commands in a shell",
		purpose: `Prints what a shell runs to complete commands and flags, and the sources, agents, document
sets and tags of the server as their values.`,
		not:      `In scripts: it is for a shell that a person types in.`,
		output:   `A script for bash, zsh, fish or powershell.`,
		examples: []string{`source <(quarry completion bash)`, `quarry completion fish > ~/.config/fish/completions/quarry.fish`},
	}
}

func adminHelp() help {
	return help{
		short: "administer a served library",
		purpose: `Holds the commands that administer the library of this machine, or of --library DIR, when
it is served.`,
		not:      `To search.`,
		output:   `See the commands.`,
		examples: []string{`quarry admin token list`, `quarry admin token add --name laptop`},
	}
}

func adminTokenHelp() help {
	return help{
		short: "make, list and revoke access tokens",
		purpose: `Administers the tokens that quarry serve asks for, on the library's own files: who can read
them is its administrator. With --server or --profile, your own tokens on that server.`,
		not:      `To store a token that somebody gave you: quarry configure.`,
		output:   `See the commands.`,
		examples: []string{`quarry admin token add --name laptop`, `quarry admin token list --json`},
	}
}

func tokenAddHelp() help {
	return help{
		short: "make an access token",
		purpose: `Makes a token for the owner of the library, or for --user. This is how the first token of
a served library is made.`,
		not: `To find a lost token: only a new one can be made.`,
		output: `The token on a terminal, else JSON: {"id","name","token_display","created_at","expires_at",
"last_used_at","scopes","token"}. It is shown this one time.`,
		exits:    remoteExits(),
		examples: []string{`quarry admin token add --name laptop`, `quarry admin token add --name ci --scope read:search --expires 30 --json`},
	}
}

func tokenListHelp() help {
	return help{
		short:   "list access tokens",
		purpose: `Lists the tokens that work, without their secrets.`,
		not:     `To find a lost token: only a new one can be made.`,
		output: `A table on a terminal, else JSON: [{id, name, token_display, created_at, expires_at,
last_used_at, scopes}]; [] for none.`,
		exits:    remoteExits(),
		examples: []string{`quarry admin token list`, `quarry admin token list --json`},
	}
}

func tokenRemoveHelp() help {
	return help{
		short:    "revoke an access token",
		purpose:  `Makes a token stop working at once. Its number is in quarry admin token list.`,
		not:      `To replace a token: make the new one first.`,
		output:   `Nothing on standard output.`,
		exits:    remoteExits(),
		examples: []string{`quarry admin token remove 3`, `quarry admin token remove 3 --library /srv/quarry`},
	}
}

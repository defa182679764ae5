package cli

const overFiles = `On the library's own files: who can write them is its administrator.`

func adminUserHelp() help {
	return help{
		short: "add, list, shut out and remove users",
		purpose: `Administers who may use a served library. ` + overFiles + `
A server's API has no routes for users.`,
		not:      `To give somebody a token: quarry admin token add --user EMAIL makes the user, too.`,
		output:   `See the commands.`,
		examples: []string{`quarry admin user list`, `quarry admin user add jo@acme.com --role admin`},
	}
}

func userAddHelp() help {
	return help{
		short:    "add a user, or give one another role",
		purpose:  `Makes a user. With --role, one who exists gets that role, for all their tokens at once.`,
		not:      `To let somebody in again: quarry admin user activate.`,
		output:   `A line on a terminal, else JSON: {email, role, is_active, created_at}.`,
		exits:    remoteExits(),
		examples: []string{`quarry admin user add jo@acme.com`, `quarry admin user add kim@acme.com --role admin`},
	}
}

func userListHelp() help {
	return help{
		short:    "list users",
		purpose:  `Lists everybody who may hold a token, and who is kept out.`,
		not:      `To see tokens: quarry admin token list.`,
		output:   `A table on a terminal, else JSON: [{email, role, is_active, created_at}]; [] for none.`,
		exits:    remoteExits(),
		examples: []string{`quarry admin user list`, `quarry admin user list --json`},
	}
}

func userDeactivateHelp() help {
	return help{
		short:    "keep a user out",
		purpose:  `Makes all tokens of a user stop working at once. What they made stays.`,
		not:      `For good: quarry admin user remove.`,
		output:   `Nothing on standard output.`,
		exits:    remoteExits(),
		examples: []string{`quarry admin user deactivate jo@acme.com`, `quarry admin user deactivate jo@acme.com --library /srv/quarry`},
	}
}

func userActivateHelp() help {
	return help{
		short:    "let a user in again",
		purpose:  `Ends quarry admin user deactivate: tokens that were not revoked work again.`,
		not:      `To make a user: quarry admin user add.`,
		output:   `Nothing on standard output.`,
		exits:    remoteExits(),
		examples: []string{`quarry admin user activate jo@acme.com`, `quarry admin user activate jo@acme.com --library /srv/quarry`},
	}
}

func userRemoveHelp() help {
	return help{
		short: "remove a user",
		purpose: `Removes a user with their tokens and memberships. Their agents stay, as nobody's. The owner
cannot be removed.`,
		not:      `For a while: quarry admin user deactivate.`,
		output:   `Nothing on standard output.`,
		exits:    remoteExits(),
		examples: []string{`quarry admin user remove jo@acme.com`, `quarry admin user remove jo@acme.com --library /srv/quarry`},
	}
}

func adminGroupHelp() help {
	return help{
		short: "make, list and remove groups, and who is in them",
		purpose: `Administers groups of users: those of this library, which private connectors, document sets
and agents are given to, and those of the systems that documents come from
(--external SOURCE:ID), which synced documents name. ` + overFiles + `
With --server or --profile, the list alone.`,
		not:      `To see who exists: quarry admin user list.`,
		output:   `See the commands.`,
		examples: []string{`quarry admin group list`, `quarry admin group add Engineering --user jo@acme.com`},
	}
}

func groupAddHelp() help {
	return help{
		short: "make a group, or add to one",
		purpose: `Makes a group, or adds users and private connectors to the one of that name. What the group
may see, they see at once.`,
		not:    `For documents that name people and groups themselves: quarry admin connector add --access sync.`,
		output: `A line on a terminal, else JSON: {name, external, users, connectors} as they were given.`,
		exits:  remoteExits(),
		examples: []string{`quarry admin group add Engineering --user jo@acme.com --user kim@acme.com`,
			`quarry admin group add --external slack:C024BE91L --user jo@acme.com`},
	}
}

func groupListHelp() help {
	return help{
		short:    "list groups",
		purpose:  `Lists groups with their users and connectors, those of other systems last.`,
		not:      `To see who exists: quarry admin user list.`,
		output:   `A table on a terminal, else JSON: [{id, name, external, users, connectors}]; [] for none.`,
		exits:    remoteExits(),
		examples: []string{`quarry admin group list`, `quarry admin group list --json`},
	}
}

func groupRemoveHelp() help {
	return help{
		short: "remove a group, or take users out of it",
		purpose: `Removes a group: what was given to it, nobody has through it any more. With --user, only
takes those out of it.`,
		not:    `To shut somebody out of everything: quarry admin user deactivate.`,
		output: `Nothing on standard output.`,
		exits:  remoteExits(),
		examples: []string{`quarry admin group remove Engineering`,
			`quarry admin group remove --external slack:C024BE91L --user jo@acme.com`},
	}
}

func adminConnectorHelp() help {
	return help{
		short: "make, list and remove what documents are posted for",
		purpose: `A connector says who sees the documents that are posted for it. ` + overFiles + `
With --server or --profile, add alone, with an administrator's token.`,
		not:      `To add files of this machine: quarry add.`,
		output:   `See the commands.`,
		examples: []string{`quarry admin connector list`, `quarry admin connector add Wiki --source confluence --access sync`},
	}
}

func connectorAddHelp() help {
	return help{
		short: "make a connector",
		purpose: `Makes a connector and tells its number, the cc_pair_id of POST /onyx-api/ingestion. Its
documents are public, private to groups and its creator, or synced: each names who sees it
in external_access, and one that names nobody is seen by nobody.`,
		not:    `To index anything: documents are posted to the server.`,
		output: `A line on a terminal, else JSON: {id, name, source, access_type, groups, creator, document_sets}.`,
		exits:  remoteExits(),
		examples: []string{`quarry admin connector add Wiki --source confluence --access public`,
			`quarry admin connector add Contracts --source google_drive --group Legal`},
	}
}

func connectorListHelp() help {
	return help{
		short:    "list connectors",
		purpose:  `Lists connectors with their numbers, their document sets and who sees their documents.`,
		not:      `To see what is indexed: quarry sources.`,
		output:   `A table on a terminal, else JSON: [{id, name, source, access_type, groups, creator, document_sets}]; [] for none.`,
		exits:    remoteExits(),
		examples: []string{`quarry admin connector list`, `quarry admin connector list --json`},
	}
}

func connectorRemoveHelp() help {
	return help{
		short:    "remove a connector and its documents",
		purpose:  `Removes a connector with all documents that were posted for it.`,
		not:      `To hide its documents from a group: quarry admin group remove.`,
		output:   `Nothing on standard output.`,
		exits:    remoteExits(),
		examples: []string{`quarry admin connector remove Wiki`, `quarry admin connector remove Wiki --library /srv/quarry`},
	}
}

func adminSetHelp() help {
	return help{
		short: "make, list and remove document sets",
		purpose: `A document set narrows a search to some connectors' documents, and those of quarry add --set.
It gives no rights: its documents keep their own. ` + overFiles + `
With --server or --profile, list, and add without users and connectors.`,
		not:      `To see what you can search in: quarry document-sets.`,
		output:   `See the commands.`,
		examples: []string{`quarry admin document-set list`, `quarry admin document-set add Handbook --connector Wiki`},
	}
}

func setAddHelp() help {
	return help{
		short: "make a document set",
		purpose: `Makes a document set of connectors. It is for everybody, unless --user, --group or
--restricted says for whom; administrators can always search in it.`,
		not:    `For files of this machine: quarry add PATH --set NAME makes the set, too.`,
		output: `A line on a terminal, else JSON: {id, name, description, is_public, users, groups, connectors}.`,
		exits:  remoteExits(),
		examples: []string{`quarry admin document-set add Handbook --connector Wiki`,
			`quarry admin document-set add Contracts --connector Drive --group Legal`},
	}
}

func setListHelp() help {
	return help{
		short:   "list document sets",
		purpose: `Lists all document sets, with their connectors and for whom they are.`,
		not:     `To see what you can search in, with counts: quarry document-sets.`,
		output: `A table on a terminal, else JSON: [{id, name, description, is_public, users, groups, connectors}];
[] for none.`,
		exits:    remoteExits(),
		examples: []string{`quarry admin document-set list`, `quarry admin document-set list --json`},
	}
}

func setRemoveHelp() help {
	return help{
		short: "remove a document set",
		purpose: `Ends a document set; its documents stay. One that an agent searches in, or that added files
are in, is refused.`,
		not:      `To remove its documents: quarry remove --set NAME.`,
		output:   `Nothing on standard output.`,
		exits:    remoteExits(),
		examples: []string{`quarry admin document-set remove Handbook`, `quarry admin document-set remove Handbook --library /srv/quarry`},
	}
}

func adminAgentHelp() help {
	return help{
		short: "make, list and remove agents",
		purpose: `An agent is a scope that people choose by name: document sets, single documents, an earliest
date. It gives no rights: documents keep their own. ` + overFiles + `
With --server or --profile, list and add.`,
		not:      `To see which you can use: quarry agents.`,
		output:   `See the commands.`,
		examples: []string{`quarry admin agent list`, `quarry admin agent add Engineering --document-set Handbook`},
	}
}

func agentAddHelp() help {
	return help{
		short: "make an agent",
		purpose: `Makes an agent of the owner's. It is for everybody, unless --user, --group or --restricted
says for whom. Without --document-set and --document it searches everything.`,
		not: `To search in a document set once: quarry search --document-set NAME.`,
		output: `A line on a terminal, else JSON: {id, name, description, is_public, owner, users, groups,
document_sets, documents, search_start_date, system_prompt, provider, model}.`,
		exits: remoteExits(),
		examples: []string{`quarry admin agent add Engineering --document-set Handbook --since 2025-01-01`,
			`quarry admin agent add Counsel --document-set Contracts --group Legal`},
	}
}

func agentListHelp() help {
	return help{
		short:   "list agents",
		purpose: `Lists all agents but the one that is built in, with what they search in and for whom they are.`,
		not:     `To see which you can use: quarry agents.`,
		output: `A table on a terminal, else JSON: [{id, name, description, is_public, owner, users, groups,
document_sets, documents, search_start_date, system_prompt, provider, model}]; [] for none.`,
		exits:    remoteExits(),
		examples: []string{`quarry admin agent list`, `quarry admin agent list --json`},
	}
}

func agentRemoveHelp() help {
	return help{
		short:    "remove an agent",
		purpose:  `Removes an agent by its number or its name. What it searched in stays.`,
		not:      `To narrow who may use it: make a new one.`,
		output:   `Nothing on standard output.`,
		exits:    remoteExits(),
		examples: []string{`quarry admin agent remove 3`, `quarry admin agent remove Engineering`},
	}
}

func adminTenantHelp() help {
	return help{
		short: "make, list and remove tenants",
		purpose: `A tenant is a library of its own, behind the same server: nothing that one has is found, counted
or named in another. A token names its tenant. The other commands of quarry admin work on the
tenant that --tenant names. ` + overFiles,
		not:      `To keep documents from people who share a library: quarry admin connector and quarry admin group.`,
		output:   `See the commands.`,
		examples: []string{`quarry admin tenant list`, `quarry admin tenant add acme`},
	}
}

func tenantAddHelp() help {
	return help{
		short: "make a tenant",
		purpose: `Makes a tenant, with an owner and nothing else. Give it a token with quarry admin token add
--tenant NAME; documents are posted to the server's /onyx-api/ingestion with that.`,
		not: `To add files of this machine: quarry add, which is for the tenant "default".`,
		output: `A line on a terminal, else JSON: {name, created_at, users, tokens, groups, connectors,
document_sets, agents, documents, conversations}.`,
		exits:    remoteExits(),
		examples: []string{`quarry admin tenant add acme`, `quarry admin tenant add acme --library /srv/quarry --json`},
	}
}

func tenantListHelp() help {
	return help{
		short:   "list tenants",
		purpose: `Lists the tenants with how much each has.`,
		not:     `To see what one has: quarry admin user list --tenant NAME, and so on.`,
		output: `A table on a terminal, else JSON: [{name, created_at, users, tokens, groups, connectors,
document_sets, agents, documents, conversations}].`,
		exits:    remoteExits(),
		examples: []string{`quarry admin tenant list`, `quarry admin tenant list --json`},
	}
}

func tenantRemoveHelp() help {
	return help{
		short: "remove a tenant and all that it has",
		purpose: `Removes a tenant: its tokens stop working at once, and its users, what was arranged for it, its
documents and its conversations are deleted, for good. One that has any of that is refused
without --force. The tenant "default" stays.`,
		not: `To shut one user out: quarry admin user deactivate.`,
		output: `A line on a terminal, else JSON of what was deleted: {name, created_at, users, tokens, groups,
connectors, document_sets, agents, documents, conversations}.`,
		exits:    remoteExits(),
		examples: []string{`quarry admin tenant remove acme`, `quarry admin tenant remove acme --force --json`},
	}
}

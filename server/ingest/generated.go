package ingest

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"quarry/client/wire"
	"quarry/internal/pattern"
	"quarry/internal/text"
)

// What programs wrote for programs is left out of every library: it has many words, so that it would come before what
// people wrote. It is known by the name of the file or of its folder, or by the text, and never if it is prose or if it
// was added by itself. The rules are those that GitHub's linguist and Go's tools share.

// generatedNames has the reasons for files by patterns of their names, in lower case.
var generatedNames = [...]struct {
	reason   string
	patterns []string
}{
	{wire.LockFile, strings.Fields(`package-lock.json npm-shrinkwrap.json pnpm-lock.yaml packages.lock.json
		conda-lock.{yml,yaml}
		{bun,cargo,composer,deno,flake,gemfile,mix,pdm,pipfile,podfile,poetry,pubspec,uv,yarn}.lock
		go.sum go.work.sum gradle.lockfile package.resolved`)},
	{wire.Minified, strings.Fields(`*[.-]min.{js,mjs,cjs,css}`)},
	{wire.SourceMap, strings.Fields(`*.{js,mjs,cjs,css,ts}.map`)},
	{wire.GeneratedCode, strings.Fields(`*.pb.{go,gw.go,cc,h} *_pb2.py *_pb2_grpc.py *_pb.{js,d.ts} *.{g,freezed}.dart
		*.{designer,g,g.i}.cs zz_generated*.go
		*[._]generated.{c,cc,cpp,cs,css,dart,go,graphql,h,java,js,json,kt,php,proto,py,rb,rs,sql,swift,ts,tsx}
		*[._]generated.{yaml,yml}`)},
}

// fixturePath matches data of tests. A folder named fixtures alone may hold those of a building.
var fixturePath = pattern.Lazy(`(?:^|/)(?:testdata|__fixtures__|__snapshots__|cassettes|` +
	`(?:tests?|__tests__|specs?|cypress)/(?:[^/]+/)*fixtures)/.*` +
	`\.(?:json|jsonl|ndjson|ya?ml|toml|xml|csv|tsv|sql|snap)$`)

// generatedByName returns why a file, by its path from the root, is left out; "" if it is read, as what is added by
// itself.
func generatedByName(name string) string {
	name = strings.ToLower(name)
	base := path.Base(name)
	for _, kind := range generatedNames {
		isOf := func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, base) }
		if name != "" && slices.ContainsFunc(kind.patterns, isOf) {
			return kind.reason
		}
	}
	if fixturePath().MatchString(name) {
		return wire.Fixture
	}
	return ""
}

const commentStart = `(?://|/?\*+|#|--|;|%|<[!?]|"""|''')`

var (
	// generatedHead matches a comment at the start of a file that says that a program wrote it. One that describes
	// other files lacks the request not to edit them.
	generatedHead = pattern.Lazy(`(?i)^(?:[ \t]*(?:` + commentStart + `[^\n]*)?\n){0,20}[ \t]*` + commentStart +
		`[\s*/!-]*(?:@generated\b|<auto-?generated|(?:[^\n]*\b)?(?:auto-?)?generated\b[^\n]*(?:\n[^\n]*)?` +
		`\b(?:do not|don't) (?:edit|modify|change)\b)`)
	dumpHead = pattern.Lazy(`^(?:--[ \t]*\n)?-- (?:MySQL|MariaDB|PostgreSQL|phpMyAdmin) .*(?:dump|Dump)|` +
		`^PRAGMA foreign_keys=OFF;`)
	mapHead    = pattern.Lazy(`^\s*\{\s*"version"\s*:\s*3\s*,[^\n]*"(?:sources|mappings|file|sections)"\s*:`)
	sourceLink = pattern.Lazy(`(?m)^\s*/[/*]# sourceMappingURL=`)
)

// generatedBy returns why a file is left out, by its text; "" if it is read.
func generatedBy(f format, data []byte) string {
	const longLine, shortFile, end = 250, 2_000, 500 // bytes; people break lines, and write short ones
	if !f.code {
		return ""
	}
	head := data[:min(len(data), 8<<10)]
	isScript := text.IsAmong(f.name, "js mjs css")
	average := len(data) / (1 + bytes.Count(data, []byte("\n")))
	for _, rule := range [...]struct {
		isFor  bool
		form   func() *regexp.Regexp
		text   []byte
		reason string
	}{
		{f.name == "json", mapHead, head, wire.SourceMap},
		{f.name == "sql", dumpHead, head, wire.Dump},
		{isScript, sourceLink, data[max(0, len(data)-end):], wire.GeneratedCode},
		{f.name != "json", generatedHead, head, wire.GeneratedCode},
	} {
		if rule.isFor && rule.form().Match(rule.text) {
			return rule.reason
		}
	}
	if isScript && len(data) >= shortFile && average >= longLine {
		return wire.Minified
	}
	return ""
}

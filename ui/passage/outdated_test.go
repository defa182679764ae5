package passage

import (
	"testing"

	"quarry/client/wire"
)

func TestOutdatedDocumentsSaySo(t *testing.T) {
	t.Parallel()
	status := func(value string) wire.SearchResult {
		return wire.SearchResult{Metadata: map[string]wire.Metadata{"status": wire.One(value)}}
	}
	for name, test := range map[string]struct {
		result wire.SearchResult
		want   bool
	}{
		"status":                      {status("Superseded"), true},
		"another status":              {status("accepted; supersedes 12"), false},
		"title":                       {wire.SearchResult{Title: "[DEPRECATED] Postgres"}, true},
		"end of the title":            {wire.SearchResult{Title: "Postgres (archived)"}, true},
		"title with a colon":          {wire.SearchResult{Title: "Obsolete: Postgres"}, true},
		"title about it":              {wire.SearchResult{Title: "Deprecated endpoints of the interface"}, false},
		"notice":                      {wire.SearchResult{Content: "# T\n\nThis page is **DEPRECATED**, see elsewhere."}, true},
		"notice after another this":   {wire.SearchResult{Content: "Is this it? Do this. This document has been superseded."}, true},
		"of something else":           {wire.SearchResult{Content: "This function is deprecated. This page is about outdated pages."}, false},
		"without \"this\"":            {wire.SearchResult{Content: "page is deprecated"}, false},
		"nothing":                     {wire.SearchResult{}, false},
		"title in German":             {wire.SearchResult{Title: "[Veraltet] Reisekosten"}, true},
		"title in French":             {wire.SearchResult{Title: "Obsolète : notes de frais"}, true},
		"title in Spanish":            {wire.SearchResult{Title: "Gastos (obsoleto)"}, true},
		"title in Russian":            {wire.SearchResult{Title: "[Устарело] Командировки"}, true},
		"status in German":            {status("archiviert"), true},
		"what still holds":            {wire.SearchResult{Title: "Gastos (vigente)", Content: "Esta página está vigente."}, false},
		"notice in German":            {wire.SearchResult{Content: "Achtung: Diese Seite ist **veraltet**."}, true},
		"another one in German":       {wire.SearchResult{Content: "Dieses Dokument ist nicht mehr gültig"}, true},
		"part of a German page":       {wire.SearchResult{Content: "Diese Funktion ist veraltet; diese Seite ist aktuell."}, false},
		"notice in French":            {wire.SearchResult{Content: "Cette procédure n’est plus à jour."}, true},
		"another one in French":       {wire.SearchResult{Content: "Ce document est désormais obsolète."}, true},
		"a French page about one":     {wire.SearchResult{Content: "Cette page liste ce qui est obsolète."}, false},
		"notice in Spanish":           {wire.SearchResult{Content: "Esta guía ya no está vigente"}, true},
		"another one in Spanish":      {wire.SearchResult{Content: "Este documento ha quedado obsoleto."}, true},
		"notice in Russian":           {wire.SearchResult{Content: "Внимание! Эта страница устарела."}, true},
		"another one in Russian":      {wire.SearchResult{Content: "Данный регламент больше не действует."}, true},
		"a Russian word that goes on": {wire.SearchResult{Content: "Этот документ устареловатый"}, false},
	} {
		if got := Outdated(test.result); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

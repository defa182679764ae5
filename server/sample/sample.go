// Package sample is the bundled library: the documents of a fictional company, for a first look and for tests. It is
// indexed in memory.
package sample

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"time"

	"go.yaml.in/yaml/v3"

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/ingest"
)

//go:embed library
var library embed.FS

// public is the access term of documents that everybody may see.
const public = "PUBLIC"

// knowledge is the content of library.yaml: document sets and agents.
type knowledge struct {
	Company string `yaml:"company"`
	Sets    []struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
		Public      bool   `yaml:"public"`
	} `yaml:"document_sets"`
	Agents []struct {
		Name        string    `yaml:"name"`
		Description string    `yaml:"description"`
		Sets        []string  `yaml:"document_sets"`
		Since       time.Time `yaml:"search_start_date"`
		Starters    []struct {
			Name    string `yaml:"name"`
			Message string `yaml:"message"`
		} `yaml:"starter_messages"`
	} `yaml:"agents"`
}

// Documents reads the sample's documents, in the order of their files.
func Documents() ([]index.Document, error) {
	var documents []index.Document
	err := fs.WalkDir(library, "library", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".md" {
			return err
		}
		text, err := library.ReadFile(name)
		if err != nil {
			return err
		}
		document, err := ingest.FromMarkdown(text, index.Document{Access: []string{public}}, true)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		documents = append(documents, document)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the sample library: %w", err)
	}
	return documents, nil
}

// LoadIndex writes the sample's documents to an index.
func LoadIndex(ctx context.Context, idx index.Index) error {
	documents, err := Documents()
	if err != nil {
		return err
	}
	batch := index.Batch{Upsert: documents}
	new(ingest.Names).AddHashes(&batch)
	if _, err := idx.Write(ctx, batch); err != nil {
		return fmt.Errorf("index the sample library: %w", err)
	}
	return nil
}

// LoadDirectory adds the sample's document sets and agents to a directory, in the default tenant.
func LoadDirectory(ctx context.Context, people *directory.Directory) error {
	text, err := library.ReadFile("library/library.yaml")
	if err != nil {
		return fmt.Errorf("read the sample's sets and agents: %w", err)
	}
	var known knowledge
	if err := yaml.Unmarshal(text, &known); err != nil {
		return fmt.Errorf("read the sample's sets and agents: %w", err)
	}
	tenant, sets := people.In(ctx, directory.DefaultTenant), map[string]directory.DocumentSet{}
	for _, s := range known.Sets {
		set := directory.DocumentSet{Name: s.Name, Description: s.Description, Public: s.Public}
		set.ID, err = tenant.CreateDocumentSet(directory.SetDetails{DocumentSet: set})
		if err != nil {
			return fmt.Errorf("add document set %s: %w", s.Name, err)
		}
		sets[s.Name] = set
	}
	for _, a := range known.Agents {
		agent := directory.Agent{
			Name: a.Name, Description: a.Description, SearchStart: a.Since, Public: true, Listed: true,
		}
		for _, name := range a.Sets {
			agent.DocumentSets = append(agent.DocumentSets, sets[name])
		}
		for _, s := range a.Starters {
			agent.StarterMessages = append(agent.StarterMessages, wire.StarterMessage{Name: s.Name, Message: s.Message})
		}
		if _, err := tenant.AddAgent(agent); err != nil {
			return fmt.Errorf("add agent %s: %w", a.Name, err)
		}
	}
	return nil
}

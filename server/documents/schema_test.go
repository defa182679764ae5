package documents

import (
	"fmt"
	"io/fs"
	"path"
	"testing"

	"quarry/internal/testkit/schematest"
)

func TestSchemaIsThatOfTheMigrations(t *testing.T) {
	for _, of := range []string{"library", "store"} {
		schematest.Check(t, "migrations/"+of, "migrations/sqlite")
	}
}

// TestNumbersOfMigrations: a file of documents that has a newer migration would pass over an older number.
func TestNumbersOfMigrations(t *testing.T) {
	const apart = 10 // the newest migration before both files had the same ones
	seen := map[string]bool{}
	for of, old := range map[string]string{"library": "00008", "store": "00010", "sqlite": ""} {
		paths, err := fs.Glob(migrationFiles, "migrations/"+of+"/0*.sql")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range paths {
			number := path.Base(file)[:5]
			if number > old && (number <= fmt.Sprintf("%05d", apart) || seen[number]) {
				t.Errorf("%s: its number is taken, or too low: new ones begin at %05d", file, apart+1)
			}
			seen[number] = number > old
		}
	}
}

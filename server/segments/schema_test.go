package segments

import (
	"testing"

	"quarry/internal/testkit/schematest"
)

func TestSchemaIsThatOfTheMigrations(t *testing.T) { schematest.Check(t, "migrations") }

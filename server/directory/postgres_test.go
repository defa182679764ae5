package directory

import (
	"strings"
	"testing"
	"time"

	"quarry/internal/testkit/postgrestest"
)

// onPostgres is the name under which tests run on a server instead of on files.
const onPostgres = "TestOnPostgres/"

// TestOnPostgres runs the tests of what a directory does on a PostgreSQL server, too. The others are of files, or of the
// memory of one process.
func TestOnPostgres(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"owner": TestOwnerExistsFromTheStart, "token": TestTokenShape, "end": TestTokensEnd, "scopes": TestScopesAndPermissions,
		"refused tokens": TestRefusedTokens, "groups": TestGroupsBecomeAccess, "tenants": TestTenantsDoNotCross,
		"agents": TestAgentsAndSets, "two processes": TestTwoProcessesAtOnce, "connectors": TestConnectorsSayWhoSeesTheirDocuments,
		"audiences": TestSetsAndAgentsForSome, "refused": TestWhatIsRefused, "membership": TestMembershipEnds,
		"bounds": TestPeopleHaveBounds, "cache": TestWhatIsRememberedIsTrue, "expiry": TestRememberedTokensExpire,
		"changed": TestChangedWhileRead, "lists": TestRememberedListsAreNotShared, "model tokens": TestModelTokensAreKept,
		"names": TestLookAlikeNames, "signs": TestNamesWithoutLetters, "administrators": TestAnAdministratorsNameWins,
		"group names": TestLookAlikeGroupsAndSets, "sandbox": TestSandboxTokenIsReused, "one sandbox": TestSandboxTokenIsOne,
		"sandbox key": TestSandboxTokenNeedsItsKey, "sandbox user": TestSandboxTokenStaysWithItsUser,
		"hidden sandbox": TestSandboxTokenIsHidden, "end of sandbox": TestSandboxTokenEndsWithItsUser,
		"forgotten set": TestForgetDocumentSet, "removed tenant": TestRemoveTenant, "parents": TestNoTokenOutlivesItsParent,
		"foreign parents": TestATokenIsNoParentForSomebodyElse,
	} {
		t.Run(name, test)
	}
}

// openAnywhere opens a directory in a file, or in TestOnPostgres the schema that stands for the file.
func openAnywhere(t *testing.T, path string, readOnly bool, now func() time.Time) (*Directory, error) {
	t.Helper()
	if !strings.HasPrefix(t.Name(), onPostgres) {
		return Open(t.Context(), path, readOnly, now)
	}
	if path == "" {
		path = t.TempDir()
	}
	return OpenServer(t.Context(), postgrestest.Open(t, path, readOnly), now)
}

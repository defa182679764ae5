package cli

import (
	"context"
	"fmt"
	"os"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
)

const (
	damageShown  = 20   // on a terminal
	damageListed = 1000 // in an answer
)

// jsonDamage is something that was damaged: an entry of status --check, and a line of sync.
type jsonDamage struct {
	Type   string `json:"type"` // damaged, repaired
	ID     string `json:"id,omitempty"`
	Path   string `json:"path,omitempty"`
	Reason string `json:"reason"`
	Hint   string `json:"hint,omitempty"` // of damaged
}

// jsonCheck is what status --check found.
type jsonCheck struct {
	Documents int          `json:"documents"` // checked
	Repaired  int          `json:"repaired"`
	Damaged   int          `json:"damaged"`
	Found     []jsonDamage `json:"found"` // at most damageListed
}

// damageOf describes an event; synced: the files were read again, and that did not help.
func (a *app) damageOf(event wire.LibraryEvent, synced bool) jsonDamage {
	d := jsonDamage{Type: event.Type, ID: event.ID, Path: event.Path, Reason: event.Reason}
	if event.Type == wire.LibraryDamaged {
		d.Hint = a.damageHint(d, synced)
	}
	return d
}

// damageHint says how to get a damaged document back.
func (a *app) damageHint(d jsonDamage, synced bool) string {
	again, remove := "quarry sync --check"+a.libraryFlag(), "quarry remove "+config.ShellQuote(d.ID)+a.libraryFlag()
	_, err := os.Lstat(d.Path)
	switch {
	case d.ID == "" && synced:
		return "Check the permissions of the library's folder, then run: " + again
	case d.ID == "" || d.Path != "" && err == nil && !synced:
		return "Run: " + again
	case d.Path != "" && err == nil:
		return "Add the file again: quarry add " + config.ShellQuote(d.Path) + a.libraryFlag()
	case d.Path != "":
		return fmt.Sprintf("Restore %s and run: %s; or remove it: %s", d.Path, again, remove)
	default:
		return "Store the document again, or remove it: " + remove
	}
}

// name is what a damage is of.
func (d jsonDamage) name() string {
	switch {
	case d.Path != "":
		return d.Path
	case d.ID != "":
		return d.ID
	default:
		return "library"
	}
}

// damageLines lists what is damaged for a person.
func damageLines(found []jsonDamage) (lines []string) {
	for _, d := range found[:min(len(found), damageShown)] {
		lines = append(lines, fmt.Sprintf("%s %s: %s", d.Type, d.name(), d.Reason))
		if d.Hint != "" {
			lines = append(lines, "  "+d.Hint)
		}
	}
	if more := len(found) - damageShown; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more; --json lists them", more))
	}
	return lines
}

// damageFailure is the error for what is still damaged; nil for nothing.
func damageFailure(found []jsonDamage) error {
	count, first := 0, ""
	for _, d := range found {
		if d.Type == wire.LibraryDamaged {
			if count++; count == 1 {
				first = d.Hint
			}
		}
	}
	switch count {
	case 0:
		return nil
	case 1:
		return &Failure{Code: ExitGeneral, What: "the library is damaged: 1 part could not be restored", Do: first}
	}
	return &Failure{Code: ExitGeneral, What: fmt.Sprintf("the library is damaged: %d parts could not be restored", count),
		Do: "Follow the hints above; the first is: " + first}
}

// checkLibrary checks the library that a session works on. What is derived is repaired, unless nothing may be changed.
func (a *app) checkLibrary(ctx context.Context, c *client.Client) (*jsonCheck, error) {
	check := &jsonCheck{Found: []jsonDamage{}}
	p := a.newProgress(verbChecked)
	p.json = false // the answer is the JSON
	done, err := c.LibraryCheck(ctx, wire.CheckRequest{Repair: !a.program.ReadOnly},
		func(event wire.LibraryEvent) {
			switch event.Type {
			case wire.LibraryChecking:
				check.Documents = event.Done
			case wire.LibraryDamaged, wire.LibraryRepaired:
				if len(check.Found) < damageListed {
					check.Found = append(check.Found, a.damageOf(event, false))
				}
			}
			p.event(event)
		})
	p.clear()
	check.Repaired, check.Damaged = done.Repaired, done.Damaged
	return check, err
}

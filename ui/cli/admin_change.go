package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.mau.fi/util/exslices"

	"quarry/client"
)

// administered is a kind of object that admin lists.
type administered[T any] struct {
	noun   string // "document set"
	plural string // what their list is called: "document-sets"
	none   string // what is said where there are none
	list   func(*client.Client, context.Context) ([]T, error)
	// key returns the id of an object, and where its name is.
	key   func(*T) (id string, name *string)
	about func(T) string // what else tells it from others, for completion
	table table          // of their list
	cells func(T) []string
}

// offer completes with the names of the objects.
func (k administered[T]) offer(ctx context.Context, c *client.Client, _ string) []cobra.Completion {
	found, _ := k.list(c, ctx)
	return exslices.CastFunc(found, func(one T) cobra.Completion {
		_, name := k.key(&one)
		return strings.TrimSuffix(cobra.CompletionWithDesc(*name, k.about(one)), "\t")
	})
}

// find returns the object that an argument names by its name or id. One that the list lacks, or that a server cannot
// list, has only its name: it is for the change to refuse it.
func (k administered[T]) find(ctx context.Context, c *client.Client, argument string) (item T, listed bool, err error) {
	all, err := k.list(c, ctx)
	if err != nil && !errors.Is(err, client.ErrNotOffered) {
		return item, false, err
	}
	var labels []string
	for i := range all {
		if id, name := k.key(&all[i]); id == argument || *name == argument {
			item, labels = all[i], append(labels, fmt.Sprintf("%s (%s)", id, *name))
		}
	}
	switch len(labels) {
	case 0:
		_, name := k.key(&item)
		*name = argument
		return item, false, nil
	case 1:
		return item, true, nil
	}
	return item, false, usage("Give a name or id that only one of them has.", "%q names %d %ss: %s", argument, len(labels), k.noun,
		strings.Join(labels, ", "))
}

// changeCommand returns a command that changes the object that its argument names, and prints it: as JSON for scripts,
// in a line for people, which done makes of its name.
func changeCommand[T any](a *app, use, short string, kind administered[T], done func(name string) string,
	change func(*client.Client, context.Context, *T) error) *cobra.Command {
	is := traits{class: administers, arguments: a.offered(kind.offer), json: prints(*new(T), unlistedOutput{})}
	return a.administer(use, short, is, func(ctx context.Context, c *client.Client, argument string) error {
		item, listed, err := kind.find(ctx, c, argument)
		if err != nil {
			return err
		}
		if err := change(c, ctx, &item); err != nil {
			return err
		}
		_, name := kind.key(&item)
		if !listed {
			return a.report(unlistedOutput{*name}, done(*name))
		}
		return a.report(item, done(*name))
	})
}

// unlistedOutput is what is known of a changed object that the list lacks.
type unlistedOutput struct {
	Name string `json:"name" jsonschema:"as given"`
}

// doneWith returns what makes a line of a name.
func doneWith(format string) func(name string) string {
	return func(name string) string { return fmt.Sprintf(format, name) }
}

// without returns the elements of a list that another lacks.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(one string) bool { return slices.Contains(other, one) })
}

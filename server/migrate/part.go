package migrate

import (
	"context"
	"fmt"
	"strconv"

	"quarry/server/fault"
	"quarry/server/index"
)

// begun is the state of a part while it is copied.
const begun = "begun"

// Part is something that is replaced as a whole, such as the conversations of a tenant.
type Part struct {
	Name    string
	Changes func(ctx context.Context) (int64, error) // number of the last change in the target; 0: it is new
	Copy    func(ctx context.Context) error
}

// Replace copies a part, unless others have changed it in the target since the last copy. The documents of the target
// remember that.
func (p Part) Replace(ctx context.Context, documents index.Index) error {
	key := statePrefix + p.Name
	stored, err := documents.Cursors(ctx, key)
	if err != nil {
		return fmt.Errorf("read the state of the target: %w", err)
	}
	now, err := p.Changes(ctx)
	if err != nil {
		return err
	}
	if last := stored[key]; last == "" && now > 0 || last != "" && last != begun && last != strconv.FormatInt(now, 10) {
		return fmt.Errorf("copy the %s: %w", p.Name, fault.ErrInUse)
	}
	remember := func(value string) error {
		if _, err := documents.Write(ctx, index.Batch{Cursors: map[string]string{key: value}}); err != nil {
			return fmt.Errorf("write to the target: %w", err)
		}
		return nil
	}
	if err := remember(begun); err != nil {
		return err
	}
	if err := p.Copy(ctx); err != nil {
		return err
	}
	if now, err = p.Changes(ctx); err != nil {
		return err
	}
	return remember(strconv.FormatInt(now, 10))
}

// Check returns fault.ErrInUse if others have changed the documents of a target.
func Check(ctx context.Context, documents index.Index) error {
	c := &copying{to: documents}
	return c.begin(ctx)
}

package embedded

import (
	"context"
	"errors"
	"time"
)

// sweepAge is the age from which an unused segment is removed: a younger one may be about to be named.
const sweepAge = 60 * time.Second

// sweep removes segments that no manifest names, such as those left by crashes. The files are listed before the manifest
// is read, so that what is named in between is kept.
func (x *Index) sweep(ctx context.Context) error {
	files, err := x.files.List()
	if err != nil {
		return err
	}
	parts, err := readManifest(ctx, x.db.Reader)
	if err != nil {
		return err
	}
	for _, p := range parts {
		delete(files, p.name)
		if p.vectors != nil {
			delete(files, p.vectors.name)
		}
	}
	var errs []error
	for name, born := range files {
		if x.now().Sub(born) < sweepAge {
			continue
		}
		if err := x.files.Remove(name); err != nil {
			errs = append(errs, err)
			continue
		}
		x.log.Info("removed an unused segment", "segment", name)
	}
	return errors.Join(errs...)
}

package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/ingest"
)

// checkedEvery is how often the progress of a check is reported.
const checkedEvery = 100 * time.Millisecond

// checkAmount reads how much a synchronisation checks.
func checkAmount(f *fields) string {
	much := f.textOr("check", wire.CheckPart, maxItemRunes)
	if !slices.Contains([]string{wire.CheckPart, wire.CheckFull, wire.CheckNone}, much) {
		f.refuse(f.raw["check"], "enum", "Input should be 'part', 'full' or 'none'", "check")
	}
	return much
}

// libraryCheck answers POST /library/check.
func (s *Server) libraryCheck(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	f := libraryFields(r)
	repair := f.flag("repair")
	if err := f.failure(); err != nil {
		return err
	}
	return s.libraryWork(w, r, who, repair, func(documents index.Index, report progress) (wire.LibraryEvent, error) {
		found, err := documents.Check(r.Context(), index.CheckOptions{Full: true, Repair: repair}, checking(report))
		return reportDamage(found, report), err
	})
}

// repair checks the library, rebuilds derived data, and rereads the files of damaged documents.
func (s *Server) repair(ctx context.Context, documents index.Index, much string, report progress) (
	wire.LibraryEvent, error) {
	if much == wire.CheckNone {
		return wire.LibraryEvent{}, nil
	}
	options := index.CheckOptions{Full: much == wire.CheckFull, Repair: true}
	found, err := documents.Check(ctx, options, checking(report))
	if err == nil {
		found, err = addUnfollowed(ctx, documents, found)
	}
	if err != nil {
		return reportDamage(found, report), err
	}
	damaged := slices.DeleteFunc(slices.Clone(found), func(d index.Damage) bool {
		return d.Kind != index.DamagedDocument && d.Kind != index.DamagedText
	})
	if len(damaged) == 0 {
		return reportDamage(found, report), nil
	}
	ids := mapped(damaged, func(d index.Damage) string { return d.ID })
	restored, err := ingest.Restore(ctx, documents, damaged, s.LibraryFiles, report)
	if err != nil {
		return restored, err
	}
	left, err := documents.Check(ctx, index.CheckOptions{Documents: ids}, nil)
	if err != nil {
		return restored, err
	}
	for i := range found {
		damage := &found[i]
		damage.Repaired = damage.Repaired || slices.Contains(ids, damage.ID) &&
			!slices.ContainsFunc(left, func(d index.Damage) bool { return d.ID == damage.ID })
	}
	told := reportDamage(found, report)
	restored.Repaired, restored.Damaged = told.Repaired, told.Damaged
	return restored, nil
}

// kindUnfollowed is the damage of files whose added folder was lost with the database.
const kindUnfollowed = "unfollowed"

// addUnfollowed adds the files that sync no longer updates after the database was repaired.
func addUnfollowed(ctx context.Context, documents index.Index, found []index.Damage) ([]index.Damage, error) {
	if !slices.ContainsFunc(found, func(d index.Damage) bool { return d.Kind == index.DamagedDatabase }) {
		return found, nil
	}
	folder, err := ingest.UntrackedFolder(ctx, documents)
	if err == nil && folder != "" {
		found = append(found, index.Damage{Kind: kindUnfollowed, ID: folder, Origin: folder,
			Reason: "files in it are in the library, but sync does not know any more that they were added"})
	}
	return found, err
}

// checking reports the progress of a check.
func checking(report progress) func(done, total int) {
	var last time.Time
	return func(done, total int) {
		if now := time.Now(); done == total || now.Sub(last) >= checkedEvery {
			last = now
			report(wire.LibraryEvent{Type: wire.LibraryChecking, Done: done, Total: total})
		}
	}
}

// reportDamage reports and counts what a check found.
func reportDamage(found []index.Damage, report progress) (done wire.LibraryEvent) {
	for _, damage := range found {
		event := wire.LibraryEvent{Type: wire.LibraryDamaged, Reason: describeDamage(damage)}
		if slices.Contains([]string{index.DamagedDocument, index.DamagedText, kindUnfollowed}, damage.Kind) {
			event.ID, event.Path = damage.ID, ingest.PathOf(damage)
		}
		if done.Damaged++; damage.Repaired {
			event.Type = wire.LibraryRepaired
			done.Damaged--
			done.Repaired++
		}
		report(event)
	}
	return done
}

// describeDamage returns the text of a damage.
func describeDamage(damage index.Damage) string {
	switch damage.Kind {
	case index.DamagedText:
		if n := len(damage.Chunks); n > 0 {
			return plural(n, "passage") + " cannot be read"
		}
		return damage.Reason
	case kindUnfollowed:
		return damage.Reason
	case index.DamagedDocument:
		return "the document cannot be read"
	case index.DamagedSegment:
		return "a file of the index: " + damage.Reason
	case index.DamagedVectors:
		return "a file of vectors: " + damage.Reason
	default:
		return "the database: " + damage.Reason
	}
}

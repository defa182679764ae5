package pipeline

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/llm"
)

// defaultDeadline is how long one call of a model may take when the request does not say.
const defaultDeadline = 8 * time.Second

// replyTokens bounds every reply: what is asked for is short, but some models think aloud first.
const replyTokens = 2048

// What models are asked for.
const (
	purposeRephrase = "rephrase"
	purposeKeywords = "keywords"
	purposeSources  = "sources"
	purposeTime     = "time"
	purposeSelect   = "select"
	purposeClassify = "classify"
)

// inquiry is one call of the model, and what is made of its reply.
type inquiry struct {
	purpose  string // and name of the prompt
	material any    // for the prompt
	turns    []llm.Message
	// use takes the reply; false says that nothing in it can be used.
	use func(reply string) bool
}

// callDeadline is how long a call may take: as the request says, but at most half of the time that is left for the
// search, so that something can still be answered without the model.
func (r *run) callDeadline(ctx context.Context) time.Duration {
	limit := r.Deadline
	if limit <= 0 {
		limit = defaultDeadline
	}
	if end, bounded := ctx.Deadline(); bounded {
		limit = min(limit, time.Until(end)/2)
	}
	return limit
}

// tally is what came of the calls of a stage.
type tally struct {
	usage  llm.Usage
	useful int
	late   []string // purposes of the calls without an answer in time
	failed []string // and of those that failed or whose reply could not be used
	reason error    // why the first of them did
	again  bool     // one of them was answered, if not well: the model may be asked again
}

// errUnusable is a reply that does not have the form that was asked for.
var errUnusable = errors.New("the reply does not have the form that was asked for")

// ask asks the model everything at once, waits for the answers, each within the deadline of a call whatever the model
// does, and uses them in the order of the inquiries. meanwhile, unless nil, runs beside the calls.
func (r *run) ask(ctx context.Context, inquiries []inquiry, meanwhile func() error) (tally, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	replies, failures := make([]llm.Reply, len(inquiries)), make([]error, len(inquiries))
	deadline := r.callDeadline(ctx)
	var calls sync.WaitGroup
	for i, q := range inquiries {
		messages, err := llm.Prompt(promptFiles, q.purpose, q.material, q.turns...)
		if err != nil {
			return tally{}, err
		}
		calls.Go(guard.Func(func() {
			replies[i], failures[i] = guard.Within(ctx, deadline, func(ctx context.Context) (llm.Reply, error) {
				return r.Model.Complete(ctx, llm.Request{Messages: messages, MaxTokens: replyTokens, Purpose: q.purpose})
			})
		}, func(err error) { failures[i] = err }))
	}
	if meanwhile != nil {
		if err := meanwhile(); err != nil {
			return tally{}, err
		}
	}
	calls.Wait()
	if err := ctx.Err(); err != nil {
		return tally{}, err
	}
	return r.use(ctx, inquiries, replies, failures), nil
}

// use takes what the model answered to inquiries, and counts it.
func (r *run) use(ctx context.Context, inquiries []inquiry, replies []llm.Reply, failures []error) (t tally) {
	for i, q := range inquiries {
		usage, err := replies[i].Usage, failures[i]
		usage.Calls = max(1, usage.Calls)
		t.usage = t.usage.Add(usage)
		if err == nil && !q.use(cleanReply(replies[i].Text)) {
			err = errUnusable
		}
		t.count(q.purpose, err)
		if err != nil && r.Log != nil {
			r.Log.WarnContext(ctx, "model call failed", "purpose", q.purpose, "model", r.Model.Name(), guard.Attr(err))
		}
	}
	return t
}

func (t *tally) count(purpose string, err error) {
	switch {
	case err == nil:
		t.useful++
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, llm.ErrTimeout):
		t.late = append(t.late, purpose)
	default:
		t.failed = append(t.failed, purpose)
		t.again = t.again || !isLasting(err)
		if t.reason == nil {
			t.reason = err
		}
	}
}

// isLasting reports whether what went wrong will most likely go wrong for the rest of this search, too.
func isLasting(err error) bool {
	var known *llm.Error
	if errors.As(err, &known) && slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound},
		known.Status) {
		return true
	}
	return errors.Is(err, llm.ErrUnavailable) || errors.Is(err, llm.ErrBusy) || errors.Is(err, llm.ErrBudget) ||
		errors.Is(err, llm.ErrUncounted)
}

// settle notes what the model did not do, with what happens instead, and says how the stage ended. A stage in which
// something was answered has succeeded. A model that answered nothing in a whole stage is not asked again.
func (r *run) noteFailures(t tally, instead string) (outcome string) {
	if len(t.late) > 0 {
		r.note(wire.NoteStageTimeout, "the language model did not answer in time (%s): %s", listed(t.late), instead)
	}
	if len(t.failed) > 0 {
		r.note(wire.NoteStageFailed, "the language model gave no answer that could be used (%s%s): %s", listed(t.failed),
			r.reason("; ", t.reason, ""), instead)
	}
	if t.useful > 0 {
		return wire.OutcomeOK
	}
	r.modelIsSilent = !t.again
	if len(t.failed) > 0 {
		return wire.OutcomeFailed
	}
	return wire.OutcomeTimeout
}

// reason words an error for a note, between before and after; it is empty for callers who may not see it.
func (r *run) reason(before string, err error, after string) string {
	if !r.Trusted || err == nil {
		return ""
	}
	return before + text.ClipTokens(oneLine(err.Error()), titleTokens) + after
}

// listed names purposes, each once with how often it occurs.
func listed(purposes []string) string {
	var names []string
	counts := map[string]int{}
	for _, p := range purposes {
		if counts[p]++; counts[p] == 1 {
			names = append(names, p)
		}
	}
	for i, name := range names {
		if counts[name] > 1 {
			names[i] = fmt.Sprintf("%d × %s", counts[name], name)
		}
	}
	return strings.Join(names, ", ")
}

// spent adds what the calls of a stage cost to its detail, for whoever asks for an explanation.
func (r *run) withUsage(detail string, u llm.Usage) string {
	if !r.Search.Explain {
		return detail
	}
	return fmt.Sprintf("%s; %s: %s, %d tokens in, %d out", detail, r.Model.Name(), text.Count(u.Calls, "call"),
		u.Prompt, u.Completion)
}

// withoutModel says why a stage goes without the model; empty when it does not. skip is the request's own wish.
func (r *run) skipReason(skip bool) string {
	switch {
	case r.Search.Instant:
		return "instant search"
	case skip:
		return "asked to skip"
	case r.Model == nil && r.NoModelReason != "":
		return r.NoModelReason
	case r.Model == nil:
		return "no model"
	case r.modelIsSilent:
		return "the model did not answer before"
	}
	return ""
}

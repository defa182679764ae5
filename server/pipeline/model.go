package pipeline

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/server/llm"
)

// defaultDeadline bounds one call of a model if the request does not.
const defaultDeadline = 8 * time.Second

// replyTokens bounds every reply: answers are short, but some models think first.
const replyTokens = 2048

// Purposes of calls, which are also the names of their prompts.
const (
	purposeRephrase = "rephrase"
	purposeKeywords = "keywords"
	purposeSources  = "sources"
	purposeTime     = "time"
	purposeSelect   = "select"
	purposeClassify = "classify"
)

// inquiry is one call of the model.
type inquiry struct {
	purpose  string
	material any // for the prompt
	turns    []wire.Message
	// use handles the reply; it returns false if the reply is unusable.
	use func(reply string) bool
}

// deadline returns how long a call may take: limit, or the request's deadline if it is not positive, but at most half
// of the remaining time, so that there is time to answer without the call.
func (r *run) deadline(limit time.Duration) time.Duration {
	if limit <= 0 {
		limit = cmp.Or(max(r.Deadline, 0), defaultDeadline)
	}
	if end, bounded := r.ctx.Deadline(); bounded {
		limit = min(limit, time.Until(end)/2)
	}
	return limit
}

// tally is the outcome of a stage's calls.
type tally struct {
	usage  llm.Usage
	useful int
	late   []string // purposes of calls without an answer in time
	failed []string // purposes of calls that failed or whose reply is unusable
	reason error    // of the first failed call
	again  bool     // the model responded, though not usefully: it may be called again
}

// errUnusable: the reply does not have the requested form.
var errUnusable = errors.New("the reply does not have the requested form")

// ask calls the model for all inquiries at once and handles the replies in their order. Each call ends at its deadline.
// meanwhile runs beside the calls unless it is nil.
func (r *run) ask(inquiries []inquiry, meanwhile func()) tally {
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	replies, failures := make([]llm.Reply, len(inquiries)), make([]error, len(inquiries))
	deadline := r.deadline(0)
	calls, _ := guard.NewGroup(r.ctx)
	for i, q := range inquiries {
		messages := guard.Must(llm.Prompt(promptFiles, q.purpose, q.material, q.turns...))
		calls.Run(func() {
			replies[i], failures[i] = guard.Within(ctx, deadline, func(ctx context.Context) (llm.Reply, error) {
				return r.Model.Complete(ctx,
					llm.Request{Messages: messages, MaxTokens: replyTokens, Purpose: q.purpose})
			})
		})
	}
	if meanwhile != nil {
		meanwhile()
	}
	guard.Check(calls.Wait())
	guard.Check(r.ctx.Err())
	return r.use(inquiries, replies, failures)
}

// use handles the replies and counts them.
func (r *run) use(inquiries []inquiry, replies []llm.Reply, failures []error) (t tally) {
	for i, q := range inquiries {
		usage, err := replies[i].Usage, failures[i]
		usage.Calls = max(1, usage.Calls)
		t.usage = t.usage.Add(usage)
		if err == nil && !q.use(cleanReply(replies[i].Text)) {
			err = errUnusable
		}
		t.count(q.purpose, err)
		if err != nil && r.Log != nil {
			r.Log.WarnContext(r.ctx, "model call failed", "purpose", q.purpose, "model", r.Model.Name(),
				guard.Attr(err))
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

// isLasting reports whether further calls in this search would likely fail in the same way.
func isLasting(err error) bool {
	var known *llm.Error
	if errors.As(err, &known) &&
		slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound},
			known.Status) {
		return true
	}
	return errors.Is(err, llm.ErrUnavailable) || errors.Is(err, llm.ErrBusy) || errors.Is(err, llm.ErrBudget) ||
		errors.Is(err, llm.ErrUncounted)
}

// noteFailures adds notes about failed calls, with what happens instead, and returns the outcome of the stage. A stage
// with one useful reply succeeded. After a stage without any response the model is not called again.
func (r *run) noteFailures(t tally, instead string) (outcome string) {
	if len(t.late) > 0 {
		r.note(wire.NoteStageTimeout, "the language model did not answer in time (%s): %s", listed(t.late), instead)
	}
	if len(t.failed) > 0 {
		r.note(wire.NoteStageFailed, "%s (%s%s): %s", whatFailed(t.reason), listed(t.failed),
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

// whatFailed returns in a few words, which anybody may see, why a model did not help.
func whatFailed(err error) string {
	for _, known := range []struct {
		kind error
		text string
	}{
		{llm.ErrUnavailable, "the server of the language model cannot be reached or failed"},
		{llm.ErrBusy, "the server of the language model has a rate limit"},
		{llm.ErrRefused, "the server of the language model refused the request"},
		{llm.ErrBudget, "today's budget of model tokens is used up"},
		{llm.ErrUncounted, "the use of the language model cannot be counted"},
	} {
		if errors.Is(err, known.kind) {
			return known.text
		}
	}
	return "the language model gave no usable answer"
}

// reason returns the text of an error for a note, with before and after around it; "" if the caller may not see it.
func (r *run) reason(before string, err error, after string) string {
	if !r.Trusted || err == nil {
		return ""
	}
	return before + text.ClipTokens(oneLine(err.Error()), titleTokens) + after
}

// listed returns the purposes, each once, with the number of its calls.
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

// withUsage adds the usage of a stage to its detail if an explanation was requested.
func (r *run) withUsage(detail string, u llm.Usage) string {
	if !r.Search.Explain {
		return detail
	}
	return fmt.Sprintf("%s; %s: %s, %s in, %s out", detail, r.Model.Name(), text.Count(u.Calls, "call"),
		text.Count(u.Prompt, "token"), text.Number(u.Completion))
}

// skipReason returns why a stage runs without the model, or "". skip is the request's own setting.
func (r *run) skipReason(skip bool) string {
	switch {
	case r.Search.Instant:
		return "instant search"
	case r.Search.Lists():
		return "documents are listed, not selected"
	case r.Search.SimilarTo != "":
		return "searched with the words of a passage"
	case skip:
		return "skipped by the request"
	case r.Model == nil && r.NoModelReason != "":
		return r.NoModelReason
	case r.Model == nil:
		return "no model"
	case r.modelIsSilent:
		return "the model did not answer earlier calls"
	}
	return ""
}

// maxUserTurns is the number of user messages that scopes are read from (Onyx: MAX_SOURCE_FILTER_USER_TURNS).
const maxUserTurns = 5

// earlierTurns returns the conversation before the question: the messages up to the user's last one, which is left out
// if it is the question itself. The types of messages are the names of the roles.
func earlierTurns(s wire.SearchRequest) []wire.Message {
	history := s.MessageHistory
	last := lastOfUser(history)
	if last >= 0 && sameQuery(history[last].Message, s.Query) {
		last--
	}
	turns := slices.DeleteFunc(slices.Clone(history[:last+1]), func(m wire.Message) bool {
		return m.Type != llm.RoleUser && m.Type != llm.RoleAssistant
	})
	return llm.Turns(turns, historyTokens, turnTokens)
}

func lastOfUser(history []wire.Message) int {
	for i := len(history) - 1; i >= 0; i-- {
		if history[i].Type == llm.RoleUser {
			return i
		}
	}
	return -1
}

// userTurns returns the user's last messages, bounded, with the question last.
func userTurns(s wire.SearchRequest) []string {
	turns := []string{text.ClipTokens(s.Query, questionTokens)}
	for i := lastOfUser(s.MessageHistory); i >= 0 && len(turns) < maxUserTurns; i-- {
		m := s.MessageHistory[i]
		if m.Type != llm.RoleUser || strings.TrimSpace(m.Message) == "" ||
			len(turns) == 1 && sameQuery(m.Message, s.Query) {
			continue
		}
		turns = append(turns, text.ClipTokens(m.Message, turnTokens))
	}
	slices.Reverse(turns)
	return turns
}

//go:embed prompts/*.md
var promptFiles embed.FS

// Tokens that each piece of foreign text may take in a prompt.
const (
	questionTokens = 1024
	turnTokens     = 512
	historyTokens  = 4096
	titleTokens    = 64
	passageTokens  = 3 * 512
	aroundTokens   = 2 * 512
)

// maxReply bounds the part of a reply that is read, in bytes.
const maxReply = 32 << 10

// cleanReply returns the part of a reply that is read.
func cleanReply(reply string) string {
	return strings.TrimSpace(strings.ToValidUTF8(text.Clip(reply, maxReply), ""))
}

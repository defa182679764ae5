package target

import (
	"context"
	"errors"
	"time"

	"quarry/client"
	"quarry/server/slack"
)

// slack returns Slack as a federated source for the owner of a profile's token, which the first search reads.
func (h *Host) slack(choice Choice, patience time.Duration) (*slack.Source, error) {
	transport, err := client.NewTransport()
	if err != nil {
		return nil, &Error{Kind: ErrNotConfigured, Problem: "cannot search " + choice.ServerURL, Err: err,
			Fix: "correct QUARRY_CA_BUNDLE, or unset it"}
	}
	return slack.New(slack.Options{Name: choice.Profile, BaseURL: choice.ServerURL, Token: choice.token, Transport: transport,
		Timeout: patience, UserAgent: h.userAgent()}), nil
}

// CheckSlack returns the user of a choice's Slack token and checks that they may search. It can return both a user and an
// error about searching.
func (h *Host) CheckSlack(ctx context.Context, choice Choice) (who string, err error) {
	source, err := h.slack(choice, 0)
	if err != nil {
		return "", err
	}
	identity, err := source.Check(ctx)
	if identity.User != "" {
		who = identity.User + " in " + identity.Team
	}
	var known *slack.Error
	if errors.As(err, &known) {
		kinds := map[slack.Kind]ErrKind{slack.Auth: ErrAuth, slack.RateLimited: ErrRateLimited,
			slack.Unreachable: ErrUnreachable, slack.Unusable: ErrUnreachable, slack.Refused: ErrGeneral}
		return who, &Error{Kind: kinds[known.Kind], Problem: known.Problem, Fix: known.Fix}
	}
	return who, err
}

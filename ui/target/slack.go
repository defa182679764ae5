package target

import (
	"context"
	"errors"
	"time"

	"quarry/client"
	"quarry/server/slack"
)

// slack prepares Slack to be asked as the owner of a profile's token, which is read when a search is sent there.
func (h *Host) slack(choice Choice, patience time.Duration) (*slack.Source, error) {
	transport, err := client.NewTransport()
	if err != nil {
		return nil, &Error{Kind: ErrNotConfigured, Problem: "cannot search " + choice.ServerURL, Err: err,
			Fix: "correct QUARRY_CA_BUNDLE, or unset it"}
	}
	return slack.New(slack.Options{Name: choice.Profile, BaseURL: choice.ServerURL, Token: choice.token, Transport: transport,
		Timeout: patience, UserAgent: h.userAgent()}), nil
}

// CheckSlack asks Slack whom it takes the owner of a choice's token for, and whether they may search. The first may be
// told with an error about the second.
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

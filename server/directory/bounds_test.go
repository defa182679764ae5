package directory

import (
	"errors"
	"fmt"
	"testing"
)

// TestPeopleHaveBounds: administrators have higher ones, and what belongs to nobody has none.
func TestPeopleHaveBounds(t *testing.T) {
	ctx := t.Context()
	d, _ := open(t, "", false)
	jo := must[User](t)(d.In(ctx, DefaultTenant).AddUser("jo@acme.example", RoleBasic))
	kim := must[User](t)(d.In(ctx, DefaultTenant).AddUser("kim@acme.example", RoleBasic))
	root := must[User](t)(d.In(ctx, DefaultTenant).AddUser("root@acme.example", RoleAdmin))
	agent := func(owner string, i int) error {
		_, err := d.In(ctx, DefaultTenant).AddAgent(Agent{Name: fmt.Sprint(owner, " ", i), OwnerID: owner})
		return err
	}
	for i := range MostAgents {
		if err := agent(jo.ID, i); err != nil {
			t.Fatal(err)
		}
	}
	var refused InputError
	if err := agent(jo.ID, MostAgents); !errors.As(err, &refused) {
		t.Errorf("one agent more: %v", err)
	}
	first := must[[]Agent](t)(d.For(ctx, Principal{Tenant: DefaultTenant, UserID: jo.ID}).Agents())[1]
	if err := errors.Join(agent(kim.ID, 0), agent("", 0), d.In(ctx, DefaultTenant).RemoveAgent(first.ID), agent(jo.ID, MostAgents)); err != nil {
		t.Error(err)
	}
	for i := range MostAgents + 1 {
		if err := agent(root.ID, i); err != nil {
			t.Fatalf("an administrator's agent %d: %v", i, err)
		}
	}
	token := func() (Token, error) {
		token, _, err := d.AddToken(ctx, TokenRequest{Name: "x", Email: "jo@acme.example"})
		return token, err
	}
	for range MostTokens {
		must[Token](t)(token())
	}
	if _, err := token(); !errors.As(err, &refused) {
		t.Errorf("one token more: %v", err)
	}
	oldest := must[[]Token](t)(d.In(ctx, DefaultTenant).ListTokens("jo@acme.example"))[0]
	if err := d.In(ctx, DefaultTenant).RevokeToken("jo@acme.example", oldest.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := token(); err != nil {
		t.Errorf("after one was revoked: %v", err)
	}
	rows := 0
	if err := d.db.Pool().QueryRowContext(ctx, "SELECT count(*) FROM tokens").Scan(&rows); err != nil || rows != MostTokens {
		t.Errorf("%d tokens are stored, %v", rows, err)
	}
}

package ssh_test

import (
	"io"
	"testing"
	"testing/synctest"

	"quarry/ui/ssh"
)

// Who comes and goes leaves nothing behind, also when keys come with the last one. The bubble fails when a goroutine is left.
func TestVisitsLeaveNothing(t *testing.T) { synctest.Test(t, visitsLeaveNothing) }

func visitsLeaveNothing(t *testing.T) {
	h := sample(t, inMemory)
	visits := func(count int) {
		for range count {
			conn, err := h.connect()
			if err != nil {
				t.Fatal(err)
			}
			if got := run(t, conn, "version", ""); got.code != 0 {
				t.Fatal(got)
			}
			channel := rawSession(t, conn)
			ask(t, channel, "pty-req", ptyRequest{Term: "xterm", Columns: 80, Rows: 24})
			ask(t, channel, "shell", nil)
			_, _ = io.WriteString(channel, "\x03qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq")
			_, _ = io.Copy(io.Discard, channel) // until the explorer ends
			_ = conn.Close()
		}
	}
	v := sit(t, h.mustConnect(), 80, 24, "") // what is opened once is open
	v.sees("type to search")
	v.Send("roll back a release")
	v.sees("Runbook")
	visits(20)
	quiet()
	used := heap()
	const more = 100
	visits(more)
	quiet()
	if gained := (int64(heap()) - int64(used)) / more; gained > 4<<10 { // some of it is the log, which the test keeps
		t.Errorf("each visit leaves %d bytes", gained)
	}
}

func TestHowManyVisitorsAreInIsTold(t *testing.T) {
	t.Parallel()
	told := make(chan int, 10)
	h := sample(t, func(options *ssh.Options) { options.Visitors = func(sessions int) { told <- sessions } })
	first, second := sit(t, h.mustConnect(), 80, 24, ""), sit(t, h.mustConnect(), 80, 24, "")
	first.sees("type to search")
	second.sees("type to search")
	first.press("ctrl+c")
	first.leaves()
	second.press("ctrl+c")
	second.leaves()
	for _, want := range []int{1, 2, 1, 0} {
		if got := <-told; got != want {
			t.Errorf("%d visitors, want %d", got, want)
		}
	}
}

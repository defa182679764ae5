package ssh_test

import (
	"io"
	"testing"
)

// Who comes and goes leaves nothing behind, also when keys come with the last one.
func TestVisitsLeaveNothing(t *testing.T) {
	h := sample(t, nil)
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
	before, used := calm(), heap()
	const more = 100
	visits(more)
	settles(t, before)
	if gained := (int64(heap()) - int64(used)) / more; gained > 4<<10 { // some of it is the log, which the test keeps
		t.Errorf("each visit leaves %d bytes", gained)
	}
}

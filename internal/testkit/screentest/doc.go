// Package screentest runs a program behind an emulated terminal and lets a test type, look at the screen, and wait for
// what it should show. It is for tests alone.
//
//	screen := screentest.Start(t, model, screentest.Options{Width: 80, Height: 24})
//	screen.WaitText("search")
//	screen.Type("roll back")
//	screen.Press("enter")
//	screen.WaitText("Runbook")
//
// Nothing sleeps here: every wait looks at each frame that the program writes, and fails the test with the screen when
// twenty seconds are over or the program has ended.
package screentest

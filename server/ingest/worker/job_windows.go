package worker

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// confine puts a started process into a job of its own, which bounds its memory and ends it with this process. start is
// about what a process of this program has when it starts. The returned function closes the job.
func confine(process *os.Process) (release func()) {
	const start = 256 << 20
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return func() {} // the watch in the process is a bound, too
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			LimitFlags: windows.JOB_OBJECT_LIMIT_PROCESS_MEMORY | windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
		},
		ProcessMemoryLimit: start + 2*MaxMemory, // with the engine for PDF files
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		var handle windows.Handle
		handle, err = windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false,
			uint32(process.Pid))
		if err == nil {
			err = windows.AssignProcessToJobObject(job, handle)
			_ = windows.CloseHandle(handle)
		}
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return func() {}
	}
	return func() { _ = windows.CloseHandle(job) }
}

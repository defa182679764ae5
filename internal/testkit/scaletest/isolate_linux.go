package scaletest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// isolatedKey is set in the environment of a process that Isolate started.
const isolatedKey = "QUARRY_SCALE_ISOLATED"

// Isolated reports whether this process has a network of its own, which nothing else on the machine can reach.
func Isolated() bool { return os.Getenv(isolatedKey) != "" && loopbackOnly() == nil }

func loopbackOnly() error {
	interfaces, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
			return fmt.Errorf("the network has the interface %s", i.Name)
		}
	}
	return nil
}

// Isolate runs this program again, with the same arguments, in a network with nothing but a loopback interface. In that
// process it prepares the network and returns; in the first one it returns the exit code of the other.
func Isolate() (code int, isolated bool, err error) {
	if os.Getenv(isolatedKey) != "" {
		if err := errors.Join(loopbackOnly(), raiseLoopback()); err != nil {
			return 1, false, fmt.Errorf("prepare the network: %w", err)
		}
		return 0, true, nil
	}
	program, err := os.Executable()
	if err != nil {
		return 1, false, err
	}
	again := exec.Command(program, os.Args[1:]...)
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	again.Env = append(os.Environ(), isolatedKey+"=1")
	again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 { // who is not root gets a namespace where the network is theirs
		again.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		again.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		again.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		again.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN}
	}
	signal.Ignore(os.Interrupt) // the other process, which gets it too, stops its servers
	err = again.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), false, nil
	}
	if err != nil {
		return 1, false, fmt.Errorf("make a network namespace: %w", err)
	}
	return 0, false, nil
}

// raiseLoopback starts the loopback interface, which is down in a new network.
func raiseLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(socket) }()
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(socket, unix.SIOCGIFFLAGS, request); err != nil {
		return err
	}
	request.SetUint16(request.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}

func dieWithParent(command *exec.Cmd) {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

// asUser makes a command run as another user.
func asUser(command *exec.Cmd, uid, gid int) {
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

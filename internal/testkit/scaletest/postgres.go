package scaletest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// Postgres is a PostgreSQL server with an empty database, in a temporary folder.
type Postgres struct {
	URL string // of the database
	dir string
	*process
}

// ErrNoPostgres is returned where PostgreSQL is not installed.
var ErrNoPostgres = errors.New("PostgreSQL is not installed: neither initdb in PATH nor in /usr/lib/postgresql " +
	"(Debian: apt-get install postgresql)")

// FindPostgres returns the folder with the programs of the newest PostgreSQL that is installed.
func FindPostgres() (string, error) {
	if found, err := exec.LookPath("initdb"); err == nil {
		if found, err = filepath.EvalSymlinks(found); err == nil { // the others need not be linked
			return filepath.Dir(found), nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // Debian keeps them out of PATH
	if len(found) == 0 {
		return "", ErrNoPostgres
	}
	version := func(file string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(file))))
		return n
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(newest), nil
}

// StartPostgres starts a server on the loopback interface. PostgreSQL refuses to run as root, so that root runs it as the
// user postgres.
func StartPostgres(ctx context.Context) (*Postgres, error) {
	programs, err := FindPostgres()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "quarry-postgres-")
	if err != nil {
		return nil, err
	}
	p := &Postgres{dir: dir}
	if err := p.start(ctx, programs); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return p, nil
}

func (p *Postgres) start(ctx context.Context, programs string) error {
	owner, err := databaseUser()
	if err != nil {
		return err
	}
	if owner.uid != 0 {
		if err := os.Chown(p.dir, owner.uid, owner.gid); err != nil {
			return err
		}
	}
	data := filepath.Join(p.dir, "data")
	create := owner.command(p.dir, filepath.Join(programs, "initdb"), "--pgdata="+data, "--auth=trust", "--username=quarry",
		"--encoding=UTF8", "--no-locale", "--no-sync")
	if out, err := create.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	if err := askPassword(filepath.Join(data, "pg_hba.conf")); err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	server := owner.command(p.dir, filepath.Join(programs, "postgres"), "-D", data, "-p", strconv.Itoa(port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=200", "-c", "jit=off",
		"-c", "fsync=off", "-c", "full_page_writes=off") // no test kills it
	if p.process, err = start(server, filepath.Join(p.dir, "log")); err != nil {
		return err
	}
	if err := p.await(ctx, func(ctx context.Context) error {
		return exec.CommandContext(ctx, filepath.Join(programs, "pg_isready"), "-q", "-h", "127.0.0.1", "-p", strconv.Itoa(port)).Run()
	}); err != nil {
		p.kill()
		return err
	}
	p.URL = fmt.Sprintf("postgres://quarry@127.0.0.1:%d/postgres?sslmode=disable", port)
	return nil
}

// askPassword makes the server ask one role, which does not exist, for its password: no other is needed here.
func askPassword(file string) error {
	rules, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte("host all nobody-here all scram-sha-256\n"), rules...), 0o600)
}

// Stop ends the server, also with open connections, and removes its folder.
func (p *Postgres) Stop() error {
	p.stop(syscall.SIGINT)
	return os.RemoveAll(p.dir)
}

type account struct{ uid, gid int }

// databaseUser returns the user to run as; zero for the one of this process.
func databaseUser() (account, error) {
	if os.Getuid() != 0 {
		return account{}, nil
	}
	found, err := user.Lookup("postgres")
	if err != nil {
		return account{}, fmt.Errorf("PostgreSQL does not run as root: %w", err)
	}
	uid, err := strconv.Atoi(found.Uid)
	gid, gidErr := strconv.Atoi(found.Gid)
	return account{uid, gid}, errors.Join(err, gidErr)
}

func (a account) command(dir, name string, arguments ...string) *exec.Cmd {
	command := exec.Command(name, arguments...)
	command.Dir = dir
	if a.uid != 0 {
		asUser(command, a.uid, a.gid)
	}
	return command
}

// freePort returns a port that nothing listens on.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

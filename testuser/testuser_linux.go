package testuser

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	poolName = "sbx-test-" // and a number from 0, in scripts/test-machine.sh, too
	locks    = "/run/sbx-test-users"
)

// patience is how long what has ended may need to be gone: the machine may be busy.
var patience = 5 * time.Second

// Credential is what a process of the user is started with.
func (u User) Credential() *syscall.Credential {
	return &syscall.Credential{Uid: uint32(u.UID), Gid: uint32(u.GID), Groups: []uint32{}}
}

// KillAll ends the processes of the user, for a test of a program that leaves some
// on purpose, like podman.
func (u User) KillAll() {
	for _, p := range u.processes() {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

func take(t testing.TB) (User, error) {
	if os.Geteuid() != 0 {
		return User{}, errors.New("only root can start processes of another")
	}
	u, lock, err := fromPool()
	if err == nil && lock == nil {
		u, err = made()
	}
	if err != nil {
		return User{}, err
	}
	t.Cleanup(func() {
		for _, left := range u.left() {
			t.Errorf("left of %s: %s", u.Name, left)
		}
		if err := u.clear(); err != nil {
			t.Error(err)
		}
		if lock != nil {
			lock.Close()
		} else if out, err := exec.Command("userdel", u.Name).CombinedOutput(); err != nil {
			t.Errorf("userdel %s: %v\n%s", u.Name, err, out)
		}
	})
	// What a test that was killed left is not of this one.
	if err := u.clear(); err != nil {
		return User{}, err
	}
	return u, u.furnish()
}

// furnish makes the home directory with what a new user finds in it.
func (u User) furnish() error {
	if err := os.Mkdir(u.Home, 0o755); err != nil {
		return err
	}
	if err := os.CopyFS(u.Home, os.DirFS("/etc/skel")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return filepath.WalkDir(u.Home, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, u.UID, u.GID))
	})
}

// fromPool takes an account that nobody uses, and waits for one. There is no lock
// where there is no pool.
func fromPool() (User, *os.File, error) {
	for {
		for i := 0; ; i++ {
			u, err := lookup(poolName + strconv.Itoa(i))
			if err != nil && i == 0 {
				return User{}, nil, nil
			}
			if err != nil {
				break
			}
			lock, err := tryLock(u.Name)
			if err != nil {
				return User{}, nil, err
			}
			if lock == nil {
				continue
			}
			if u, err = lookup(u.Name); err == nil {
				return u, lock, nil
			}
			lock.Close() // taken away meanwhile
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// tryLock returns nothing when another has the account.
func tryLock(name string) (*os.File, error) {
	if err := os.MkdirAll(locks, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(locks, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, nil
		}
		return nil, err
	}
	return f, nil
}

func made() (User, error) {
	name := "sbxtest" + strconv.Itoa(os.Getpid())
	out, err := exec.Command("useradd", "--user-group", "--no-create-home", "--home-dir", "/home/"+name, "--shell", "/bin/sh", name).CombinedOutput()
	if err != nil {
		return User{}, fmt.Errorf("useradd %s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return lookup(name)
}

func lookup(name string) (User, error) {
	account, err := user.Lookup(name)
	if err != nil {
		return User{}, err
	}
	uid, err := strconv.Atoi(account.Uid)
	if err != nil {
		return User{}, err
	}
	gid, err := strconv.Atoi(account.Gid)
	return User{Name: name, UID: uid, GID: gid, Home: account.HomeDir}, err
}

type process struct {
	pid  int
	line string
}

// processes are those of the user that have not ended: a zombie is its parent's.
func (u User) processes() (found []process) {
	statuses, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, file := range statuses {
		text, err := os.ReadFile(file)
		if err != nil || !u.owns(string(text)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if err == nil {
			found = append(found, process{pid, strings.ReplaceAll(string(line), "\x00", " ")})
		}
	}
	return found
}

// owns reads /proc/PID/status.
func (u User) owns(status string) bool {
	state, number := "", ""
	for line := range strings.Lines(status) {
		key, value, _ := strings.Cut(line, ":")
		switch fields := strings.Fields(value); {
		case key == "State" && len(fields) > 0:
			state = fields[0]
		case key == "Uid" && len(fields) > 0:
			number = fields[0]
		}
	}
	return number == strconv.Itoa(u.UID) && state != "Z" && state != "X"
}

// files are what the user has where everybody can write.
func (u User) files() (found []string) {
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue"} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				continue // gone meanwhile
			}
			if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) == u.UID {
				found = append(found, filepath.Join(dir, e.Name()))
			}
		}
	}
	return found
}

// left says what is there of the user at the end.
func (u User) left() (found []string) {
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		processes := u.processes()
		if len(processes) == 0 {
			break
		}
		if time.Now().After(deadline) {
			for _, p := range processes {
				found = append(found, fmt.Sprintf("process %d: %s", p.pid, p.line))
			}
			break
		}
	}
	return append(found, u.files()...)
}

// clear takes away all that is there of the user.
func (u User) clear() error {
	for deadline := time.Now().Add(patience); len(u.processes()) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("processes of %s do not end", u.Name)
		}
		u.KillAll()
	}
	for _, name := range slices.Concat([]string{u.Home}, u.files()) {
		if err := os.RemoveAll(name); err != nil {
			return err
		}
	}
	return nil
}

//go:build amd64 || arm64

package probes

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// shared are objects in the host's ipc namespace.
type shared struct {
	key                    int
	queue                  string
	memory                 []byte
	segment, messages, sem int
	posix                  int
}

func (s *shared) open(id string) {
	n, _ := strconv.ParseUint(id, 16, 32)
	s.key, s.queue = int(n&0x7fffffff|1<<24), "sbx-probe-"+id
	if id, err := unix.SysvShmGet(s.key, 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o666); err == nil {
		s.segment = id
		s.memory, _ = unix.SysvShmAttach(id, 0, 0)
	}
	if id, _, errno := unix.Syscall(unix.SYS_MSGGET, uintptr(s.key), unix.IPC_CREAT|unix.IPC_EXCL|0o666, 0); errno == 0 {
		s.messages = int(id)
	}
	if id, _, errno := unix.Syscall(unix.SYS_SEMGET, uintptr(s.key), 1, unix.IPC_CREAT|unix.IPC_EXCL|0o666); errno == 0 {
		s.sem = int(id)
	}
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, text(s.queue), unix.O_CREAT|unix.O_EXCL|unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o666, 0, 0, 0)
	if errno == 0 {
		s.posix = int(fd)
	}
}

// renew takes back what is the same however often it is done.
func (s *shared) renew() { clear(s.memory) }

// noShared has none: 0 is an identifier.
func noShared() shared { return shared{segment: -1, messages: -1, sem: -1, posix: -1} }

func (s *shared) watch(st state) {
	st["shared memory"] = fmt.Sprintf("%q", s.memory[:min(len(s.memory), 32)])
	if s.messages >= 0 {
		var info [128]byte // msqid_ds; msg_qnum counts
		_ = call(unix.SYS_MSGCTL, uintptr(s.messages), unix.IPC_STAT, pointer(&info))
		st["message queue"] = fmt.Sprintf("%x", info)
	}
	if s.sem >= 0 {
		n, _, _ := unix.Syscall6(unix.SYS_SEMCTL, uintptr(s.sem), 0, 12, 0, 0, 0) // GETVAL
		st["semaphore"] = strconv.Itoa(int(n))
	}
	if s.posix >= 0 {
		buffer := make([]byte, 80)
		n, _ := unix.Pread(s.posix, buffer, 0) // QSIZE:…
		st["posix message queue"] = string(buffer[:max(n, 0)])
	}
}

func (s *shared) close() {
	if s.memory != nil {
		_ = unix.SysvShmDetach(s.memory)
	}
	if s.segment >= 0 {
		_, _ = unix.SysvShmCtl(s.segment, unix.IPC_RMID, nil)
	}
	if s.messages >= 0 {
		_ = call(unix.SYS_MSGCTL, uintptr(s.messages), unix.IPC_RMID, 0)
	}
	if s.sem >= 0 {
		_ = call(unix.SYS_SEMCTL, uintptr(s.sem), 0, unix.IPC_RMID)
	}
	if s.posix >= 0 {
		_ = unix.Close(s.posix)
		_ = call(unix.SYS_MQ_UNLINK, text(s.queue))
	}
}

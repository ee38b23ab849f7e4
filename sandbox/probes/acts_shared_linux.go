//go:build amd64 || arm64

package probes

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// sharedActs reach objects that belong to no file tree.
func sharedActs() []act {
	return []act{
		{"sysv-memory", func(a arguments) error {
			begun()
			id, err := unix.SysvShmGet(a.number(0), 0, 0)
			if err != nil {
				return err
			}
			memory, err := unix.SysvShmAttach(id, 0, 0)
			if err != nil {
				return err
			}
			copy(memory, "changed from inside")
			return unix.SysvShmDetach(memory)
		}},
		{"sysv-message", func(a arguments) error {
			begun()
			id, _, errno := unix.Syscall(unix.SYS_MSGGET, uintptr(a.number(0)), 0, 0)
			if errno != 0 {
				return errno
			}
			m := struct {
				kind int64
				text [8]byte
			}{1, [8]byte{'p'}}
			return call(unix.SYS_MSGSND, id, pointer(&m), unsafe.Sizeof(m.text), unix.IPC_NOWAIT)
		}},
		{"sysv-semaphore", func(a arguments) error {
			begun()
			id, _, errno := unix.Syscall(unix.SYS_SEMGET, uintptr(a.number(0)), 0, 0)
			if errno != 0 {
				return errno
			}
			op := struct {
				num       uint16
				add, flag int16
			}{0, 1, 0}
			return call(unix.SYS_SEMOP, id, pointer(&op), 1)
		}},
		{"posix-message", func(a arguments) error {
			begun()
			fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, text(a.text(0)), unix.O_WRONLY|unix.O_NONBLOCK, 0, 0, 0, 0)
			if errno != 0 {
				return errno
			}
			word := []byte("probe")
			return call(unix.SYS_MQ_TIMEDSEND, fd, uintptr(unsafe.Pointer(&word[0])), 5, 0, 0)
		}},
	}
}

//go:build amd64 || arm64

package probes

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The parts of linux/io_uring.h that one submission needs.
const (
	ringOpenat  = 18
	ringConnect = 16
	ringSocket  = 45
	offSubmit   = 0
	offComplete = 0x8000000
	offEntries  = 0x10000000
	getEvents   = 1
)

type ringParams struct {
	_      [10]uint32 // sizes, flags, features
	sq, cq [10]uint32
}

type submission struct {
	opcode, flags uint8
	ioprio        uint16
	fd            int32
	off, addr     uint64
	length        uint32
	openFlags     uint32
	rest          [32]byte
}

// ring makes one submission and returns its result: a road past a filter on
// the calls themselves.
func ring(s submission) (int32, error) {
	var p ringParams
	r, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, pointer(&p), 0)
	if errno != 0 {
		return 0, errno
	}
	fd := int(r)
	defer unix.Close(fd)
	subs, err := unix.Mmap(fd, offSubmit, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return 0, setup("map ring", err)
	}
	comps, err := unix.Mmap(fd, offComplete, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return 0, setup("map ring", err)
	}
	entries, err := unix.Mmap(fd, offEntries, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return 0, setup("map ring", err)
	}
	// sq: head, tail, mask, entries, flags, dropped, array; cq: head, tail, mask, entries, overflow, cqes.
	word := func(m []byte, at uint32) *uint32 { return (*uint32)(unsafe.Pointer(&m[at])) }
	*(*submission)(unsafe.Pointer(&entries[0])) = s
	*word(subs, p.sq[6]) = 0
	atomic.StoreUint32(word(subs, p.sq[1]), 1)
	if err := call(unix.SYS_IO_URING_ENTER, uintptr(fd), 1, 1, getEvents, 0, 0); err != nil {
		return 0, err
	}
	if atomic.LoadUint32(word(comps, p.cq[1])) == 0 {
		return 0, fmt.Errorf("no completion")
	}
	return int32(*word(comps, p.cq[5]+8)), nil
}

func ringResult(n int32, err error) (int, error) {
	if err == nil && n < 0 {
		err = unix.Errno(-n)
	}
	return int(n), err
}

func ioUringOpen(a arguments) error {
	path, err := unix.BytePtrFromString(a.text(0))
	if err != nil {
		return setup("path", err)
	}
	pinned.Pin(path)
	begun()
	fd, err := ringResult(ring(submission{
		opcode: ringOpenat, fd: unix.AT_FDCWD, addr: uint64(uintptr(unsafe.Pointer(path))), length: 0o644, openFlags: unix.O_CREAT | unix.O_WRONLY,
	}))
	return closing(fd, err)
}

// ioUringConnect makes the socket by the ring too.
func ioUringConnect(a arguments) error {
	begun()
	fd, err := ringResult(ring(submission{opcode: ringSocket, fd: unix.AF_INET, off: unix.SOCK_STREAM}))
	if err != nil {
		return err
	}
	port := uint16(a.number(0))
	to := &unix.RawSockaddrInet4{Family: unix.AF_INET, Port: port<<8 | port>>8, Addr: [4]byte{127, 0, 0, 1}}
	pinned.Pin(to)
	_, err = ringResult(ring(submission{opcode: ringConnect, fd: int32(fd), addr: uint64(uintptr(unsafe.Pointer(to))), off: unix.SizeofSockaddrInet4}))
	return err
}

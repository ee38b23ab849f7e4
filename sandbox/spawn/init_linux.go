//go:build amd64 || arm64

package spawn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Indices that pid 1 reports on the error pipe.
const (
	initExec  = 2000
	initClone = 2001
	initOrder = 2002
	// initBegun is no error: a pid 1 that another program executes says it.
	initBegun = ^uint64(0)
)

// StepExec is the name of the step that fails when the command cannot be
// executed, with or without pid 1.
const StepExec = "execute"

// endMark stands behind the code of pid 1.
var endMark = []byte("sbx-end!")

// maxInit bounds the search for endMark.
const maxInit = 4096

// initImage wraps the code of pid 1 into a static ELF file: one read-execute
// segment, and a stack that is not executable.
func initImage() ([]byte, error) {
	code := unsafe.Slice((*byte)(unsafe.Pointer(codePointer())), maxInit)
	n := bytes.Index(code, endMark)
	if n < 0 {
		return nil, errors.New("code of pid 1 has no end")
	}
	const (
		base   = 0x400000
		header = 64 + 2*56
		align  = 1 << 16
	)
	var b bytes.Buffer
	le := func(v any) { _ = binary.Write(&b, binary.LittleEndian, v) }
	size := uint64(header + n)
	b.WriteString("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	le([]uint16{2, elfMachine})
	le(uint32(1))
	le([]uint64{base + header, 64, 0})
	le(uint32(0))
	le([]uint16{64, 56, 2, 0, 0, 0})
	le([]uint32{1, 5}) // PT_LOAD, R|X
	le([]uint64{0, base, base, size, size, align})
	le([]uint32{0x6474e551, 6}) // PT_GNU_STACK, R|W
	le([]uint64{0, 0, 0, 0, 0, 16})
	b.Write(code[:n])
	return b.Bytes(), nil
}

//go:nocheckptr
func codePointer() *byte { return *(**byte)(unsafe.Pointer(&[1]uintptr{initAddr()})) }

// Init is the program of pid 1 as a sealed anonymous file. It may be used by
// many runs at once.
type Init struct {
	FD int // -1: this host runs no anonymous files, each run makes a file of its own
	// image is what is written then.
	image []byte
}

// NewInit makes the file. It is closed by Close.
func NewInit() (*Init, error) {
	image, err := initImage()
	if err != nil {
		return nil, err
	}
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("sbx-init", flags|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // a kernel before 6.3 does not know MFD_EXEC
		fd, err = unix.MemfdCreate("sbx-init", flags)
	}
	if errors.Is(err, unix.EACCES) { // vm.memfd_noexec is 2
		return &Init{FD: -1, image: image}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("make anonymous file for pid 1: %w", err)
	}
	if n, err := unix.Write(fd, image); err != nil || n != len(image) {
		unix.Close(fd)
		return nil, fmt.Errorf("write pid 1 (%d of %d bytes): %w", n, len(image), err)
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("seal pid 1: %w", err)
	}
	return &Init{FD: fd}, nil
}

// Close gives the file back.
func (i *Init) Close() error {
	if i.FD < 0 {
		return nil
	}
	return unix.Close(i.FD)
}

// PlaceInit appends the steps that make the program of pid 1 a file without a
// name, for hosts that run no anonymous ones. at is a path on a file system that
// belongs to the run and allows execution; Landlock has to allow it too.
func (p *Plan) PlaceInit(i *Init, at string) {
	if i == nil || i.image == nil {
		return
	}
	out, in := p.NewRef(), p.NewRef()
	name := p.Str(at)
	p.Call("make file "+at+" for pid 1", unix.SYS_OPENAT, []uintptr{Cwd, name, unix.O_CREAT | unix.O_EXCL | unix.O_WRONLY | unix.O_CLOEXEC, 0o500}, Store(out))
	p.Call("write pid 1", unix.SYS_WRITE, []uintptr{0, p.Bytes(i.image), uintptr(len(i.image))}, Load(out))
	// A file that is open for writing cannot be executed.
	p.Call("close pid 1", unix.SYS_CLOSE, nil, Load(out))
	p.Call("open pid 1", unix.SYS_OPENAT, []uintptr{Cwd, name, unix.O_RDONLY | unix.O_CLOEXEC}, Store(in))
	p.Call("take the name of pid 1 away", unix.SYS_UNLINKAT, []uintptr{Cwd, name, 0})
	p.placed = &in
}

// none is the descriptor of who waits for nobody, or has no order.
const none = 0xffff

// initArguments is the argv of pid 1.
func initArguments(pipes *Pipes, stderr, release, order int) []string {
	var numbers strings.Builder
	for _, v := range []int{pipes.Errors, pipes.Lifeline, pipes.Status, 0, stderr, release, order} {
		numbers.WriteString(letters(uint64(v)))
	}
	return []string{"sbx-init", numbers.String()}
}

// InitArguments is the argv of a pid 1 that another program executes, which the
// plan executes. stderr is the descriptor that becomes the command's standard
// error, order the one of NewOrder. Pid 1 says that it is there, and waits: see
// Pipes.Ready.
func (p *Pipes) InitArguments(stderr, order int) []string {
	return initArguments(p, stderr, p.Go, order)
}

// letters writes the nibbles of v, most significant first, from A on.
func letters(v uint64) string {
	b := make([]byte, 16)
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = 'A' + byte(v&15)
		v >>= 4
	}
	return string(b)
}

// ExecInit appends the last step: pid 1 is executed and starts path with argv
// and env. The three pipes must not close on exec; pid 1 sees to that itself.
func (p *Plan) ExecInit(i *Init, pipes *Pipes, path string, argv, env []string) {
	args := append(initArguments(pipes, 2, none, none), append([]string{path}, argv...)...)
	call := []uintptr{uintptr(i.FD), p.Str(""), p.vector(args), p.vector(env), unix.AT_EMPTY_PATH}
	if p.placed != nil {
		p.Call("execute pid 1", unix.SYS_EXECVEAT, call, Load(*p.placed))
		return
	}
	p.Call("execute pid 1", unix.SYS_EXECVEAT, call)
}

// vector keeps a NULL-terminated array of strings.
func (p *Plan) vector(list []string) uintptr {
	size := 1 // an empty list has an address, too
	for _, s := range list {
		size += len(s) + 1
	}
	v, texts := make([]uintptr, len(list)+1), make([]byte, size)
	at := 0
	for i, s := range list {
		if strings.IndexByte(s, 0) >= 0 {
			p.fail(fmt.Errorf("plan %q: %w", s, unix.EINVAL))
		}
		v[i] = uintptr(unsafe.Pointer(&texts[at]))
		at += copy(texts[at:], s) + 1
	}
	p.keep = append(p.keep, v, texts)
	return uintptr(unsafe.Pointer(&v[0]))
}

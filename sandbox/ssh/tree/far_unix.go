//go:build unix

package tree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Far is the side of the command.
type Far struct {
	conn  Conn
	dir   string
	root  *os.Root
	state string // path of the index
	index *Index
	list  List // what is there, as far as is known
	fresh bool
}

// OpenFar makes and opens the directory of an exchange. state is a file beside
// it, which no command may write.
func OpenFar(c Conn, dir, state string) (*Far, error) {
	for _, d := range []string{dir, filepath.Dir(state)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(st.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("directory %q: it is none of ours", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	f := &Far{conn: c, dir: dir, root: root, state: state}
	// The index is of one directory: after it was removed, or replaced, nothing
	// that is missing was deleted by a command.
	mine := fmt.Sprintf("%d\n", st.Ino)
	text, err := os.ReadFile(state)
	f.fresh = err != nil || len(text) < len(mine) || string(text[:len(mine)]) != mine
	f.index = &Index{}
	if !f.fresh {
		f.index = ParseIndex(text[len(mine):])
	}
	return f, nil
}

// Close lets go of the directory.
func (f *Far) Close() { _ = f.root.Close() }

// scan lists what is there now, and stores the index when it says something new.
// That a full disk does not take it stops nothing: the old one, or none, has files
// read again and what is not known put there again, no more, and a command must be
// able to make room.
func (f *Far) scan() (List, error) {
	list, err := Scan(f.root, f.index)
	if err != nil || !f.index.Changed && !f.fresh {
		return list, err
	}
	info, err := os.Lstat(f.dir)
	if err != nil {
		return nil, err
	}
	st := info.Sys().(*syscall.Stat_t)
	_ = replaceFile(f.state, append(fmt.Appendf(nil, "%d\n", st.Ino), f.index.Bytes()...))
	return list, nil
}

// Before takes what the near side sends, until the command may run.
func (f *Far) Before() error {
	_, believed, err := receive(f.conn, string(opList))
	if err != nil {
		return err
	}
	if f.list, err = f.scan(); err != nil {
		return err
	}
	if d := f.list.Digest(); !f.fresh && string(believed) == string(d[:]) {
		err = send(f.conn, opSame, nil)
	} else {
		err = sendParts(f.conn, f.list.Bytes(), f.fresh)
	}
	if err != nil {
		return err
	}
	return f.take(opRun)
}

// After tells what the command has changed, and sends what is asked for.
func (f *Far) After() error {
	f.fresh = false
	list, err := f.scan()
	if err != nil {
		return err
	}
	var text []byte
	for _, c := range difference(f.list, list) {
		text = append(text, c.bytes()...)
	}
	if err := sendParts(f.conn, text, false); err != nil {
		return err
	}
	f.list = list
	return f.take(opQuit)
}

// take serves the near side until it says until.
func (f *Far) take(until byte) error {
	w := &writer{root: f.root}
	var made []Change
	var failed []Conflict
	fail := func(c Change, err error) {
		if err != nil {
			failed = append(failed, Conflict{c.From.Path, plain(err)})
		} else {
			made = append(made, c)
		}
	}
	for {
		op, data, err := receive(f.conn, string([]byte{opChange, opFile, opFetch, opCommit, until}))
		if err != nil {
			return err
		}
		switch op {
		case opChange, opFile:
			c, err := parseChange(data)
			if err != nil {
				return err
			}
			if op == opChange {
				fail(c, w.make(c))
				continue
			}
			ferr, err := receiveFile(f.conn, w, c)
			if err != nil {
				return err
			}
			fail(c, ferr)
		case opFetch:
			c, err := parseChange(data)
			if err == nil {
				err = sendFile(f.conn, f.root, c, nil)
			}
			if err != nil {
				return err
			}
		case opCommit:
			failed = append(failed, w.end()...)
			f.list = f.list.with(made)
			if err := send(f.conn, opCommit, conflictsJSON(failed)); err != nil {
				return err
			}
			made, failed = nil, nil
		case until:
			return nil
		}
	}
}

// receiveFile takes the bytes of a change. failed: they came, and could not be
// stored.
func receiveFile(c Conn, w *writer, change Change) (failed, broken error) {
	in, failed := w.begin(change)
	for {
		op, data, err := receive(c, string([]byte{opData, opDone}))
		if err != nil {
			if failed == nil {
				in.drop()
			}
			return failed, err
		}
		if op == opDone {
			if failed == nil {
				failed = in.finish()
			}
			return failed, nil
		}
		if failed == nil {
			if _, failed = in.Write(data); failed != nil {
				in.drop()
			}
		}
	}
}

// sendFile sends the bytes of what a change comes to. A file that cannot be read
// is an answer, too; missing, when it is given, takes the reason in its place.
func sendFile(c Conn, root *os.Root, change Change, missing func(error)) error {
	from, err := open(root, change.To)
	if err != nil {
		if missing != nil {
			missing(err)
			return nil
		}
		return send(c, opMissing, []byte(plain(err)))
	}
	defer from.Close()
	if err := send(c, opFile, change.bytes()); err != nil {
		return err
	}
	buffer := make([]byte, chunk)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if err := send(c, opData, buffer[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return send(c, opDone, nil) // after an error the sum is wrong, and the other side drops it
		}
	}
}

// replaceFile writes a file at once.
func replaceFile(path string, text []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	_, err = temp.Write(text)
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
	return err
}

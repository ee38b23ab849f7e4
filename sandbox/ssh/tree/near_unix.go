//go:build unix

package tree

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Near is the side of the caller. It decides: the far side only says what it has
// and does what it is told.
type Near struct {
	conn  Conn
	root  *os.Root
	owner *Owner
	state string
	host  string // for messages

	index               *Index
	base, sent, fetched List // see Before
	agreed              List // what both sides had when the command began
	kept                []byte
}

// OpenNear opens a directory that is carried. state is a file that remembers what
// both sides had.
func OpenNear(c Conn, dir, state, host string, owner *Owner) (*Near, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Near{conn: c, root: root, owner: owner, state: state, host: host}, nil
}

// Close lets go of the directory.
func (n *Near) Close() { _ = n.root.Close() }

// Stat describes the directory that was opened.
func (n *Near) Stat() (os.FileInfo, error) { return n.root.Stat(".") }

// lock keeps other exchanges of the same directory waiting.
func (n *Near) lock() (unlock func(), err error) {
	f, err := os.OpenFile(n.state+".lock", os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// load reads what is remembered. What is damaged says that nothing is known: then
// what differs is a conflict, and nothing is overwritten.
func (n *Near) load() {
	n.base, n.sent, n.fetched, n.index = nil, nil, nil, &Index{}
	text, err := os.ReadFile(n.state)
	if err != nil {
		return
	}
	n.kept = text
	var parts [4][]byte
	for i := range parts {
		size, k := binary.Uvarint(text)
		if k <= 0 || size > uint64(len(text)-k) {
			return
		}
		parts[i], text = text[k:k+int(size)], text[k+int(size):]
	}
	var lists [3]List
	for i := range lists {
		if lists[i], err = Parse(parts[i]); err != nil {
			return
		}
	}
	n.base, n.sent, n.fetched, n.index = lists[0], lists[1], lists[2], ParseIndex(parts[3])
}

func (n *Near) save() error {
	var text []byte
	for _, part := range [...][]byte{n.base.Bytes(), n.sent.Bytes(), n.fetched.Bytes(), n.index.Bytes()} {
		text = append(binary.AppendUvarint(text, uint64(len(part))), part...)
	}
	if string(text) == string(n.kept) {
		return nil
	}
	n.kept = text
	return replaceFile(n.state, text)
}

// Before makes both sides the same. A conflict is an Error, and nothing was
// changed then on either side.
func (n *Near) Before() error {
	unlock, err := n.lock()
	if err != nil {
		return err
	}
	defer unlock()
	n.load()
	digest := n.base.Digest()
	if err := send(n.conn, opList, digest[:]); err != nil {
		return err
	}
	here, err := Scan(n.root, n.index) // while the other side does the same
	if err != nil {
		return err
	}
	there, err := n.theirs()
	if err != nil {
		return err
	}
	c := Before(n.base, n.sent, n.fetched, here, there)
	if len(c.Conflicts) > 0 {
		return &Error{"not carried to " + n.host + ", and nothing ran; make the two the same, or remove one", c.Conflicts}
	}
	if len(c.Here)+len(c.There) > 0 {
		n.sent, n.fetched = targets(c.There), targets(c.Here)
		if err := n.save(); err != nil {
			return err
		}
		failed, err := n.push(c.There)
		if err != nil {
			return err
		}
		lost, err := n.fetch(c.Here)
		if err != nil {
			return err
		}
		if failed = append(failed, lost...); len(failed) > 0 {
			return &Error{"not carried between here and " + n.host + ", and nothing ran", failed}
		}
	}
	n.agreed = here.with(c.Here)
	n.base, n.sent, n.fetched = n.agreed, nil, nil
	if err := n.save(); err != nil {
		return err
	}
	return send(n.conn, opRun, nil)
}

// theirs is what is there.
func (n *Near) theirs() (List, error) {
	text, fresh, same, err := receiveParts(n.conn)
	if err != nil || same {
		return n.base, err
	}
	if fresh { // what is missing there was not removed by anybody
		n.base, n.sent, n.fetched = nil, nil, nil
	}
	list, err := Parse(text)
	if err == nil {
		err = list.whole()
	}
	return list, err
}

// targets are what some changes come to.
func targets(changes []Change) List {
	var list List
	for _, c := range changes {
		if c.To.Kind != None {
			list = append(list, c.To)
		}
	}
	list.sort()
	return list
}

// After fetches what the command has changed. What changed on both sides is left
// alone on both, and is an Error.
func (n *Near) After() error {
	text, _, _, err := receiveParts(n.conn)
	if err != nil {
		return err
	}
	changed, err := parseChanges(text)
	if err != nil {
		return err
	}
	unlock, err := n.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if len(changed) == 0 {
		return send(n.conn, opQuit, nil)
	}
	there := n.agreed.with(changed)
	if err := there.whole(); err != nil {
		return err
	}
	here, err := Scan(n.root, n.index)
	if err != nil {
		return err
	}
	c := After(n.agreed, here, there)
	n.base, n.sent, n.fetched = n.agreed, nil, targets(c.Here)
	if err := n.save(); err != nil {
		return err
	}
	failed, err := n.fetch(c.Here)
	if err != nil {
		return err
	}
	made := without(c.Here, failed)
	for _, t := range changed { // what became the same on both sides by itself
		if h := here.find(t.To.Path); h.same(t.To) {
			made = append(made, Change{t.From, h})
		}
	}
	n.base, n.fetched = n.agreed.with(made), nil
	if err := n.save(); err != nil {
		return err
	}
	if err := send(n.conn, opQuit, nil); err != nil {
		return err
	}
	if failed = append(failed, c.Conflicts...); len(failed) > 0 {
		return &Error{"the command has run, and this was not carried back from " + n.host, failed}
	}
	return nil
}

// without are the changes that were made.
func without(changes []Change, failed []Conflict) []Change {
	var made []Change
	for _, c := range changes {
		ok := true
		for _, f := range failed {
			ok = ok && f.Path != c.From.Path
		}
		if ok {
			made = append(made, c)
		}
	}
	return made
}

// push makes changes there.
func (n *Near) push(changes []Change) (failed []Conflict, err error) {
	for _, c := range changes {
		if !c.content() {
			err = send(n.conn, opChange, c.bytes())
		} else {
			err = sendFile(n.conn, n.root, c, func(err error) { failed = append(failed, Conflict{c.To.Path, plain(err)}) })
		}
		if err != nil {
			return failed, err
		}
	}
	if err := send(n.conn, opCommit, nil); err != nil {
		return failed, err
	}
	_, text, err := receive(n.conn, string(opCommit))
	if err != nil {
		return failed, err
	}
	var theirs []Conflict
	if err := json.Unmarshal(text, &theirs); err != nil {
		return failed, fmt.Errorf("%w: %w", errForm, err)
	}
	return append(failed, theirs...), nil
}

// ahead is how many files are asked for before the first has come.
const ahead = 16

// fetch makes changes here.
func (n *Near) fetch(changes []Change) (failed []Conflict, err error) {
	w := &writer{root: n.root, owner: n.owner}
	var files []Change
	for _, c := range changes { // in their order: directories come before files
		if c.content() {
			files = append(files, c)
			continue
		}
		if err := w.make(c); err != nil {
			failed = append(failed, Conflict{c.From.Path, plain(err)})
		}
	}
	asked := 0
	for i, c := range files {
		for ; asked < len(files) && asked < i+ahead; asked++ {
			if err := send(n.conn, opFetch, files[asked].bytes()); err != nil {
				return failed, err
			}
		}
		op, data, err := receive(n.conn, string([]byte{opFile, opMissing}))
		if err != nil {
			return failed, err
		}
		ferr := error(nil)
		if op == opMissing {
			ferr = fmt.Errorf("%q", data)
		} else if ferr, err = receiveFile(n.conn, w, c); err != nil {
			return failed, err
		}
		if ferr != nil {
			failed = append(failed, Conflict{c.From.Path, plain(ferr)})
		}
	}
	return append(failed, w.end()...), nil
}

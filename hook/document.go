package hook

import (
	"errors"
	"strconv"
	"strings"
)

// document is a settings file that is being edited.
type document struct {
	p    Protocol
	src  []byte
	gone bool // the file was made by an installation, and nothing else is in it
}

// parse reads the document anew: each edit moves what is behind it.
func (d *document) parse() (*node, error) {
	if d.isEmpty() {
		return nil, nil
	}
	root, err := parseJSON(d.src, true)
	if err == nil && root.kind != object {
		err = placed(d.src, root.start, "it is no object")
	}
	return root, err
}

func (d *document) isEmpty() bool {
	rest := strings.ReplaceAll(strings.TrimPrefix(string(d.src), bom), "\r\n", "\n")
	return strings.Trim(rest, " \t\n") == ""
}

// list finds the array of an event; nil when it is not there.
func (d *document) list(root *node, event string) (hooks, list *node, err error) {
	if root == nil {
		return nil, nil, nil
	}
	if hooks = root.member(hooksKey); hooks == nil {
		return nil, nil, nil
	}
	if hooks.kind != object {
		return nil, nil, placed(d.src, hooks.start, `"hooks" is no object`)
	}
	list = hooks.member(event)
	if list != nil && list.kind != array {
		return nil, nil, placed(d.src, list.start, strconv.Quote(event)+" is no list")
	}
	return hooks, list, nil
}

// found is one handler of ours: where it stands in the list of its event.
type found struct {
	item, handler int // handler is -1 when the item itself is it
	node          *node
}

func (d *document) find(list *node) []found {
	var out []found
	if list == nil {
		return nil
	}
	for i := range list.items {
		it := &list.items[i].value
		if d.isHandler(it) {
			out = append(out, found{i, -1, it})
		}
		if group := it.member(hooksKey); group != nil && group.kind == array {
			for j := range group.items {
				if h := &group.items[j].value; d.isHandler(h) {
					out = append(out, found{i, j, h})
				}
			}
		}
	}
	return out
}

func (d *document) isHandler(n *node) bool {
	command := n.member("command")
	return n.kind == object && command != nil && command.kind == text && d.p.isOurs(command.str(d.src))
}

// install puts the entry in, or brings the one that is there up to date.
func (d *document) install(e entry, line string) error {
	for {
		root, err := d.parse()
		if err != nil {
			return err
		}
		_, list, err := d.list(root, e.event)
		if err != nil {
			return err
		}
		all := d.find(list)
		if len(all) == 0 {
			return d.add(root, e, line)
		}
		if len(all) == 1 {
			return d.update(all[0].node, e, line)
		}
		if err := d.remove(root, e.event, all[len(all)-1]); err != nil { // one is enough
			return err
		}
	}
}

// add puts a new entry in, with what is missing around it.
func (d *document) add(root *node, e entry, line string) error {
	t := e.tree(line)
	l := layoutOf(d.src, root)
	if root == nil {
		whole := objectOf("", objectOf(hooksKey, arrayOf(e.event, t)))
		if d.p.settings.version {
			whole.items = append(whole.items, versionMember)
		}
		d.src = append(d.src, whole.render(l, lineIndent(d.src, len(d.src)), false)...)
		return nil
	}
	hooks, list, err := d.list(root, e.event)
	if err != nil {
		return err
	}
	switch {
	case list != nil:
		d.src = insert(d.src, l.place(d.src, list, t))
	case hooks != nil:
		d.src = insert(d.src, l.place(d.src, hooks, arrayOf(e.event, t)))
	default:
		d.src = insert(d.src, l.place(d.src, root, objectOf(hooksKey, arrayOf(e.event, t))))
		if d.p.settings.version && root.member(versionMember.key) == nil {
			return d.append(versionMember)
		}
	}
	return nil
}

// versionMember comes behind the hooks that it was put in with, so that it goes
// with them: one that was there before stands before them.
var versionMember = tree{key: "version", raw: "1"}

func (d *document) append(t tree) error {
	root, err := d.parse()
	if err == nil {
		d.src = insert(d.src, layoutOf(d.src, root).place(d.src, root, t))
	}
	return err
}

// update changes the command line of a handler and adds members that it lacks.
// What the user added or changed besides stays.
func (d *document) update(handler *node, e entry, line string) error {
	for _, m := range e.extra {
		if handler.member(m.key) == nil {
			root, err := d.parse()
			if err != nil {
				return err
			}
			d.src = insert(d.src, layoutOf(d.src, root).place(d.src, handler, leaf(m.key, m.text)))
			return d.install(e, line)
		}
	}
	command := handler.member("command")
	if command.str(d.src) != line {
		changed := append([]byte(nil), d.src[:command.start]...)
		d.src = append(appendJSON(changed, line), d.src[command.end:]...)
	}
	return nil
}

// removeAll takes out every entry of an event.
func (d *document) removeAll(event string) error {
	for {
		root, err := d.parse()
		if err != nil {
			return err
		}
		_, list, err := d.list(root, event)
		if err != nil {
			return err
		}
		all := d.find(list)
		if len(all) == 0 {
			return nil
		}
		if err := d.remove(root, event, all[len(all)-1]); err != nil {
			return err
		}
	}
}

var errGone = errors.New("the entry is not where it was")

// remove takes one entry out, and what came with it.
func (d *document) remove(root *node, event string, f found) error {
	hooks, list, err := d.list(root, event)
	if err != nil || list == nil || f.item >= len(list.items) {
		return errors.Join(err, errGone)
	}
	item := list.items[f.item].value
	if f.handler >= 0 {
		if group := item.member(hooksKey); len(group.items) > 1 {
			d.src = cut(d.src, group, f.handler, f.handler)
			return nil
		}
	}
	raw := tree{raw: string(d.src[item.start:item.end])}
	l := layoutOf(d.src, root)
	at, alone := indexOf(hooks, event), arrayOf(event, raw)
	if !d.wrote(l, hooks, at, alone) {
		d.src = cut(d.src, list, f.item, f.item)
		return nil
	}
	rootAt, both := indexOf(root, hooksKey), objectOf(hooksKey, alone)
	if !d.wrote(l, root, rootAt, both) {
		d.src = cut(d.src, hooks, at, at)
		return nil
	}
	last := rootAt
	whole := objectOf("", both)
	if d.p.settings.version && rootAt+2 == len(root.items) && d.wrote(l, root, rootAt+1, versionMember) {
		last++
		whole.items = append(whole.items, versionMember)
	}
	if string(d.src[root.start:root.end]) == whole.render(l, lineIndent(d.src, root.start), false) {
		return d.empty(root)
	}
	d.src = cut(d.src, root, rootAt, last)
	return nil
}

// empty leaves what was there before the whole object was written.
func (d *document) empty(root *node) error {
	before, after := d.src[:root.start], d.src[root.end:]
	d.gone = len(before) == 0 && string(after) == "\n"
	d.src = append(append([]byte(nil), before...), after...)
	return nil
}

// wrote reports whether an item of c is what install would have written there:
// then it did, and may take it out.
func (d *document) wrote(l layout, c *node, at int, t tree) bool {
	it := c.items[at]
	have := string(d.src[it.start():it.value.end])
	indent, _ := indentOf(d.src, it.start())
	return have == t.render(l, indent, false) || have == t.render(l, "", true)
}

func indexOf(c *node, key string) int {
	for i, it := range c.items {
		if it.keyStart >= 0 && it.key == key {
			return i
		}
	}
	return -1
}

//go:build linux

package main

import (
	"reflect"
	"strings"
	"testing"
)

// A host with a root file system, devices, and a tmpfs on /run.
const hostMounts = `21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
22 21 0:5 / /dev rw - devtmpfs devtmpfs rw
23 21 0:20 / /proc rw - proc proc rw
24 21 0:21 / /run rw - tmpfs tmpfs rw
`

// What tier full makes of it: the run's tmpfs on /run, covered itself by a
// directory of it, and all the rest. What is shown has a name that every Linux has.
const insideMounts = `41 1 254:0 / / ro,relatime - ext4 /dev/vda rw
42 41 0:5 / /dev ro - devtmpfs devtmpfs rw
43 41 0:20 / /proc ro - proc proc rw
44 41 0:21 / /run ro - tmpfs tmpfs rw
50 44 0:41 / /run rw - tmpfs tmpfs rw
51 50 0:41 /empty /run/empty ro - tmpfs tmpfs rw
52 50 0:41 /9 /run ro - tmpfs tmpfs rw
53 42 0:41 /0 /dev ro - tmpfs tmpfs rw
54 53 0:5 /null /dev/null ro - devtmpfs devtmpfs rw
55 53 0:42 / /dev/pts rw - devpts devpts rw
56 53 0:41 /5 /dev/shm rw - tmpfs tmpfs rw
57 41 254:0 /etc /home/u/a\040b rw - ext4 /dev/vda rw
58 57 254:0 /etc/passwd /home/u/a\040b/passwd ro - ext4 /dev/vda rw
59 41 0:41 /empty /etc/ssl ro - tmpfs tmpfs rw
60 41 0:41 /nothing /etc/passwd ro - tmpfs tmpfs rw
61 41 0:41 /empty /var ro - tmpfs tmpfs rw
62 43 0:43 / /proc ro - proc proc ro
`

func parse(t *testing.T, text string) []mount {
	t.Helper()
	var list []mount
	for line := range strings.Lines(text) {
		m, err := parseMount(line)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	return list
}

func TestSpotsOf(t *testing.T) {
	got, err := spotsOf(parse(t, insideMounts), parse(t, hostMounts))
	if err != nil {
		t.Fatal(err)
	}
	want := []spot{
		{kind: shut, path: "/dev", dir: true},
		{kind: shown, path: "/dev/null", from: "/dev/null"},
		{kind: terminals, path: "/dev/pts", dir: true},
		{kind: cover, path: "/dev/shm", dir: true},
		{kind: hidden, path: "/etc/passwd"},
		{kind: hidden, path: "/etc/ssl", dir: true},
		{kind: writable, path: "/home/u/a b", from: "/etc", dir: true},
		{kind: guarded, path: "/home/u/a b/passwd", from: "/etc/passwd", dir: true},
		{kind: shut, path: "/run", dir: true},
		{kind: hidden, path: "/var", dir: true},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
	words := strings.Join(floorLike(got), " ")
	if !strings.Contains(words, "s:/dev v.:/dev/null p:/dev/pts") || !strings.Contains(words, "w:/home/u/a b from:/etc") {
		t.Errorf("floor: %s", words)
	}
	args := strings.Join(options{dir: "/x"}.bwrapLike(got), " ")
	for _, part := range []string{
		"--dev /dev", "--perms 1777 --tmpfs /dev/shm", "--ro-bind /x/nothing /etc/passwd", "--tmpfs /etc/ssl",
		"--bind /etc /home/u/a b", "--ro-bind /etc/passwd /home/u/a b/passwd", "--tmpfs /run", "--remount-ro /dev --remount-ro /run",
	} {
		if !strings.Contains(args, part) {
			t.Errorf("bwrap: no %q in %s", part, args)
		}
	}
	if strings.Contains(args, "/dev/null") {
		t.Errorf("bwrap makes devices itself: %s", args)
	}
}

func TestSpotsOfNothing(t *testing.T) {
	host := parse(t, hostMounts)
	if _, err := spotsOf(host, host); err == nil {
		t.Error("a command that is not confined passes for one that is")
	}
}

func TestParseMountRefuses(t *testing.T) {
	for _, line := range []string{"", "1 2 3", "x 1 0:1 / / rw - ext4 /dev/vda rw", "1 2 0:1 / / rw -"} {
		if _, err := parseMount(line); err == nil {
			t.Errorf("%q was taken", line)
		}
	}
}

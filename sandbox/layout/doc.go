// Package layout says what a command sees of the host's file system: which
// places are writable, which are covered, hidden, or kept as they are. That is a
// pure function of the profile and of facts about the host; the facts are looked
// up here, too. It changes nothing: how a layout comes to be is the business of
// the backends that lay out mounts.
package layout

// Package landlock makes the calls of Linux's Landlock, and the ruleset that keeps a
// command whose files are laid out by mounts from leaving them by its standard streams:
// a file that is one can be opened anew by way of /proc/self/fd, past all mounts of the
// sandbox, for writing what was opened for reading.
package landlock

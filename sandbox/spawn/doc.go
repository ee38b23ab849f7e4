// Package spawn starts a program in new namespaces without forking the Go
// image. The parent writes the whole set-up down as a table of system calls; a
// child that shares the parent's memory but has a stack of its own goes through
// the table in assembly, and then executes a tiny pid 1 (see init). Nothing
// untrusted runs while memory is shared. The cost does not grow with the heap
// of the parent, which is what a fork costs.
package spawn

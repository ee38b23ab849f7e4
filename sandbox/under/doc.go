// Package under starts a command under a program that confines it (bwrap,
// firejail), with our own process in between: the program executes that one, and
// it waits until what the program has made was looked at. It loads the filter of
// system calls where the program cannot, and then it is process 1 of the command
// or the first below it: it hands signals on, says how the command ended, and ends
// when we do.
package under

// Package notify hears of chosen system calls of a confined command while the
// kernel holds them (seccomp user notification, Linux 5.5 and newer), copies
// what they are aimed at, lets them go on, and hands the copy to whoever judges
// it.
//
// It only reports. Every call is answered with CONTINUE, whatever it is: the
// paths lie in the command's memory, where another of its threads can change
// them after they were read, so a decision made here would be no decision. What
// refuses are the other layers, and a second filter that refuses wins over this
// one. What a command can reach by changing its memory is a record of an act
// that it asked for and then did not do.
package notify

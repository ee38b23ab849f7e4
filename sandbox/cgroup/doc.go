// Package cgroup makes a control group for one run and takes it away again,
// under both versions of the kernel's interface. It knows nothing of sandboxes.
//
// A group is a child of the group that this process is in, so that limits that
// hold already go on holding. Its name says whose it is, and its maker holds a
// lock on it for as long as it lives: what a killed process left behind is found
// by that and taken away by the next one.
package cgroup

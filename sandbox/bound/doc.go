// Package bound says by which means of this host the limits of a profile are
// held for a command that runs on it, names what they miss, and holds one run to
// them: control groups where they may be changed, resource limits, and what
// package proc measures.
package bound

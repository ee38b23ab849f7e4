package spawn

// rawClone starts a child that goes through the table of c and never returns.
// The parent gets its pid, or an errno. c escapes: the child outlives the call.
func rawClone(flags, stack uintptr, c *context) (pid, errno uintptr)

// initAddr is the address of the code of pid 1, which is only ever copied.
func initAddr() uintptr

const elfMachine = 62 // EM_X86_64

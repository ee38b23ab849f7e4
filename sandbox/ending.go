package sandbox

// Lost: the command may have run and its outcome is unknown; the error is ErrLost.
const Lost Ending = "lost"

package ssh

// ByClient makes each session a client of its own, as where the connection's
// process speaks another version.
func ByClient(o Options) Options {
	o.byClient = true
	return o
}

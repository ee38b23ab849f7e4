package probes

import "github.com/sbx-run/sbx/sandbox"

func lifeRows() []Row {
	ends := func(c sandbox.Control) []sandbox.Control { return []sandbox.Control{c} }
	return grouped("life of a command", []Row{
		{ID: "P67", Try: "forward every exit status", Want: Works, Procedure: []string{"exit-codes"}},
		{ID: "P68", Try: "say which signal ended the command", Want: Works, Procedure: []string{"signal"}},
		{ID: "P69a", Try: "answer 127 to a program that does not exist", Want: Works, Procedure: []string{"status", "127", "", "sbx-no-such-program"}},
		{ID: "P69b", Try: "answer 126 to a script without its interpreter", Want: Works, Procedure: []string{"status", "126", "#!/no/such\n", "$W/script"}},
		{ID: "P69c", Try: "answer 126 to a file that is not executable", Want: Works, Procedure: []string{"status", "126", "", "$W/own"}},
		{ID: "P70", Try: "run although the backend does not exist", Procedure: []string{"exec-backend"}},
		{ID: "P71a", Try: "leave a process in the background", Controls: ends(sandbox.TreeEnds), Procedure: []string{"daemon", "plain"}},
		{ID: "P71b", Try: "leave a process in a group of its own", Controls: ends(sandbox.DaemonsEnd), Procedure: []string{"daemon", "group"}},
		{ID: "P71c", Try: "leave a process in a session of its own", Controls: ends(sandbox.DaemonsEnd), Procedure: []string{"daemon", "session"}},
		{ID: "P71d", Try: "leave a process whose parent has ended", Controls: ends(sandbox.DaemonsEnd), Procedure: []string{"daemon", "twice"}},
		{ID: "P71e", Try: "leave a process that holds the output open", Controls: ends(sandbox.DaemonsEnd), Procedure: []string{"daemon", "open"}},
		{ID: "P72", Try: "end a command that ignores TERM at the time limit, with its child", Want: Works, NoControl: "there is no limit without sbx", Controls: ends(sandbox.TreeEnds), Procedure: []string{"time-limit"}},
		{ID: "P73", Try: "go on after sbx was killed by KILL", Controls: ends(sandbox.EndsWithCaller), Procedure: []string{"caller-killed"}},
		{ID: "P74", Try: "kill the client of a container engine", Beyond: "for backends that have a client"},
		{ID: "P75", Try: "drop the connection to a remote host", Beyond: "for backends that have a connection"},
		{ID: "P79", Try: "write 16 MiB to both output streams", Want: Works, Procedure: []string{"flood"}},
		{ID: "P80a", Try: "read an empty input", Want: Works, Shell: `test "$(wc -c)" -eq 0`},
		{ID: "P80b", Try: "read the input byte by byte as it was", Want: Works, Setup: Setup{Stdin: "a\x00b\xff\r\n\n"}, Shell: `test "$(od -An -tx1 | tr -d ' \n')" = 610062ff0d0a0a`},
		{ID: "P80c", Try: "see that the input is no terminal", Want: Works, Shell: `test ! -t 0`},
		{ID: "P81", Try: "run although a control is missing that was required", NoControl: "it is about the contract", Promises: true, Procedure: []string{"required"}},
		{
			ID: "N85", Try: "be told what was refused: a file outside", Want: Works, Controls: []sandbox.Control{sandbox.DenialsExplained},
			NoControl: "outside nothing is refused", Procedure: []string{"denial", "$O/new"},
		},
	})
}

func networkRows() []Row {
	off := []sandbox.Control{sandbox.NetworkOff}
	host := []sandbox.Control{sandbox.HostNetwork}
	program := func(name string) Needs { return Needs{Programs: []string{name}} }
	return grouped("network", []Row{
		{ID: "P83a", Try: "curl, network off", Controls: off, Needs: program("curl"), Shell: `curl -s -m 3 --noproxy '*' "http://127.0.0.1:$TCP/"`},
		{ID: "P83b", Try: "wget, network off", Controls: off, Needs: program("wget"), Shell: `wget -q -T 3 -t 1 --no-proxy -O- "http://127.0.0.1:$TCP/"`},
		{ID: "P83c", Try: "nc, network off", Controls: off, Needs: program("nc"), Shell: `echo x | nc -w 3 127.0.0.1 "$TCP"`},
		{ID: "P83d", Try: "ssh, network off", Controls: off, Needs: program("ssh"), Shell: `ssh -F none -o BatchMode=yes -o ConnectTimeout=3 -o UserKnownHostsFile=/dev/null -p "$TCP" 127.0.0.1 true`},
		{ID: "P83e", Try: "a name server, network off", Controls: off, Needs: program("dig"), Shell: `dig +tries=1 +time=1 -p "$UDP" @127.0.0.1 secret.example.test`},
		{ID: "P83f", Try: "python, network off", Controls: off, Needs: program("python3"), Shell: `python3 -c 'import os, socket; socket.create_connection(("127.0.0.1", int(os.environ["TCP"])))'`},
		{ID: "P83g", Try: "ping, network off", Canary: Exit, Controls: off, Needs: program("ping"), Shell: `ping -c 1 -W 1 127.0.0.1`},
		{ID: "P84", Try: "/dev/tcp of bash, network off", Controls: off, Needs: program("bash"), Shell: `bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$TCP"'`},
		{ID: "P86a", Try: "TCP to the host, network off", Controls: off, Act: []string{"tcp", "$TCP"}},
		{ID: "P86b", Try: "TCP to the host by IPv6, network off", Controls: off, Act: []string{"tcp6", "$TCP6"}},
		{ID: "P86c", Try: "TCP to the host by an IPv4 address in IPv6, network off", Controls: off, Act: []string{"tcp-mapped", "$TCP"}},
		{ID: "P86d", Try: "TCP to the host by the address 0.0.0.0, network off", Controls: off, Act: []string{"tcp-any", "$TCP"}},
		{ID: "P86e", Try: "multipath TCP to the host, network off", Controls: off, Act: []string{"mptcp", "$TCP"}},
		{ID: "P86f", Try: "TCP fast open to the host, network off", Controls: off, Act: []string{"fastopen", "$TCP"}},
		{ID: "P86g", Try: "UDP to the host, network off", Controls: off, Act: []string{"udp", "$UDP"}},
		{ID: "P86h", Try: "UDP to the host by IPv6, network off", Controls: off, Act: []string{"udp6", "$UDP6"}},
		{ID: "P86i", Try: "connected UDP to the host, network off", Controls: off, Act: []string{"udp-connected", "$UDP"}},
		{ID: "P86j", Try: "TCP to the host by io_uring, network off", Controls: off, Act: []string{"io-uring-connect", "$TCP"}},
		{ID: "P86k", Try: "a ping socket, network off", Canary: Exit, Controls: off, Act: []string{"icmp"}},
		{ID: "N60", Try: "serve and connect on the command's own loopback, network off", Want: Works, Controls: []sandbox.Control{sandbox.Loopback}, Act: []string{"own-tcp-server"}},
		{ID: "N61", Try: "connect, network on", Want: Works, Setup: Setup{Online: true}, Act: []string{"tcp", "$TCP"}, Needs: Needs{SameHost: true}},
		{ID: "N62", Try: "serve and connect on loopback, network on", Want: Works, Setup: Setup{Online: true}, Act: []string{"own-tcp-server"}},
		{ID: "P86l", Try: "reach a service on the host's loopback, network off", Controls: host, Act: []string{"tcp", "$TCP"}},
		{ID: "P87", Try: "reach a service on the host's loopback, network on", Setup: Setup{Online: true}, Controls: host, Act: []string{"tcp", "$TCP"}},
		{ID: "P87b", Try: "reach the metadata service of a cloud", Beyond: "with the network on it is the gap host-network, see P87; no probe asks a service that hands out credentials"},
		{ID: "N63", Try: "connect to an abstract socket, network on", Setup: Setup{Online: true}, Controls: []sandbox.Control{sandbox.AbstractSockets}, Act: []string{"abstract-stream", "$ABSTRACT-stream"}},
		{ID: "N64", Try: "connect to a unix socket in /run, network on", Setup: Setup{Online: true}, Controls: sockets(), Act: []string{"unix-stream", "$RUN/stream"}},
		{ID: "N65", Try: "open a vsock socket, network on", Canary: Exit, Setup: Setup{Online: true}, Controls: calls(), Act: []string{"vsock"}},
		{ID: "N66", Try: "open a raw socket, network on", Canary: Exit, Setup: Setup{Online: true}, Controls: calls(), Act: []string{"raw"}, Needs: Needs{Root: true}},
		{ID: "N67", Try: "open a packet socket, network on", Canary: Exit, Setup: Setup{Online: true}, Controls: calls(), Act: []string{"packet"}, Needs: Needs{Root: true}},
	})
}

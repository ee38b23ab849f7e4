// relay passes connections on to a server, as sbx-proxy does, and nothing else: no
// rules, no protocol, no records, no Go. What it takes is what the kernel
// takes for a process between the two others.
//
//   relay ADDRESS PORT
//
// It listens at an address of the kernel's choice and prints its port. The data
// goes through a pipe by splice(2); the buffers are those of sbx-proxy.
//
// cc -O2 -D_GNU_SOURCE relay.c

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIPE (1 << 20)
#define SEND (200 << 10)
#define RECEIVE (512 << 10)

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

// pump moves one direction until its end.
static void pump(int from, int to)
{
	int way[2];
	long n, sent;
	if (pipe(way))
		fail("pipe");
	fcntl(way[1], F_SETPIPE_SZ, PIPE);
	while ((n = splice(from, NULL, way[1], NULL, PIPE, SPLICE_F_MOVE)) > 0)
		for (; n > 0; n -= sent)
			if ((sent = splice(way[0], NULL, to, NULL, n, SPLICE_F_MOVE)) <= 0)
				exit(1);
	shutdown(to, SHUT_WR);
	exit(n < 0);
}

static void carry(int client, const struct sockaddr_in *server)
{
	int size = SEND, remote = socket(AF_INET, SOCK_STREAM, 0);
	if (remote < 0 || connect(remote, (const void *)server, sizeof *server))
		fail("connect");
	setsockopt(client, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
	size = RECEIVE;
	setsockopt(remote, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
	if (fork() == 0)
		pump(client, remote);
	pump(remote, client);
}

int main(int argc, char **argv)
{
	struct sockaddr_in server = {.sin_family = AF_INET}, here = {.sin_family = AF_INET};
	socklen_t size = sizeof here;
	int door, client;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_IGN);
	if (argc != 3 || inet_pton(AF_INET, argv[1], &server.sin_addr) != 1)
		return 2;
	server.sin_port = htons(atoi(argv[2]));
	here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	door = socket(AF_INET, SOCK_STREAM, 0);
	if (door < 0 || bind(door, (void *)&here, sizeof here) || listen(door, 64) || getsockname(door, (void *)&here, &size))
		fail("listen");
	printf("%d\n", ntohs(here.sin_port));
	fflush(stdout);
	while ((client = accept(door, NULL, NULL)) >= 0) {
		if (fork() == 0)
			carry(client, &server);
		close(client);
	}
	fail("accept");
}

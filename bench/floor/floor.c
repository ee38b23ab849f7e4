// floor makes the confinement of sbx's tier full with system calls and nothing
// else: no Go, no C library, no plan that could be printed, no message that a
// person could act on. What it takes is what the kernel takes.
//
//   floor [serve|trace] LAYER… SPOT… -- /path/to/program ARGUMENT…
//
// A layer is one of the words in parse(); a spot is KIND:PATH (see struct spot),
// parents before children, and from:PATH behind it when something else is shown there. serve runs the program once for each byte of
// standard input and answers with the nanoseconds that it took, 8 bytes. trace
// does that too, and answers with lines: nanoseconds, number and name of calls.
//
// cc -O2 -static -nostdlib -ffreestanding -fno-stack-protector floor.c

#include <asm/unistd.h>
#include <linux/capability.h>
#include <linux/fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/prctl.h>
#include <linux/resource.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <asm/signal.h>
#include <linux/sockios.h>
#include <linux/stat.h>

typedef unsigned long word;

#define NULL ((void *)0)
#define S_IFREG 0100000
#define AF_INET 2
#define SOCK_DGRAM 2
#define DIR_MODE 0755
#define STICKY 01777
#define TREE (OPEN_TREE_CLONE | O_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW)
#define MAX_SPOTS 4096
#define MAX_PATH 4096

// A spot is one place that is not the host's.
struct spot {
	char kind; // w writable, g the host's and read-only, v the same in a cover, c an empty
	           // directory of its own, s the same and read-only, h hidden, p terminals
	char dir;  // a directory; KIND.:PATH is a file
	char *path;
	char *from; // of w, g and v: what is shown there
	int above;  // the spot that it lies in, or -1
	int tree;   // its detached copy
};

static struct spot spots[MAX_SPOTS];
static int nspots;
static struct { char user, pid, mnt, ipc, uts, net, mounts, proc, landlock, caps, init; char *seccomp; } with;
static struct sock_filter program[BPF_MAXINSNS];
static struct sock_fprog filter = {0, program};
static char **command, **environment;
static char *initargs[64]; // of the init
static int self = -1;
static char stack[1 << 16] __attribute__((aligned(16)));

static long sys(word n, word a, word b, word c, word d, word e, word f)
{
	long r;
	register word r10 __asm__("r10") = d;
	register word r8 __asm__("r8") = e;
	register word r9 __asm__("r9") = f;
	__asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return r;
}

static word now(void)
{
	struct { long sec, nsec; } t;
	sys(__NR_clock_gettime, 1 /* CLOCK_MONOTONIC */, (word)&t, 0, 0, 0, 0);
	return t.sec * 1000000000UL + t.nsec;
}

static word length(const char *s)
{
	word n = 0;
	while (s[n])
		n++;
	return n;
}

static int same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

// append writes s behind to and returns the new end.
static char *append(char *to, const char *s)
{
	while ((*to = *s))
		to++, s++;
	return to;
}

static char *number(char *to, word n)
{
	char digits[24];
	int i = 0;
	do
		digits[i++] = '0' + n % 10;
	while (n /= 10);
	while (i)
		*to++ = digits[--i];
	*to = 0;
	return to;
}

static void say(int fd, const char *s) { sys(__NR_write, fd, (word)s, length(s), 0, 0, 0); }

__attribute__((noreturn)) static void fail(const char *what, const char *object, long r)
{
	static char text[MAX_PATH + 256];
	char *at = append(append(append(append(text, "floor: "), what), " "), object ? object : "");
	append(number(append(at, ": errno "), -r), "\n");
	say(2, text);
	sys(__NR_exit_group, 125, 0, 0, 0, 0, 0);
	__builtin_unreachable();
}

// What each call has taken, when that is asked for.
static int tracing;
static struct cost { const char *what; word ns, count; } costs[64];

static void count(const char *what, word ns)
{
	struct cost *c = costs;
	while (c->what && !same(c->what, what))
		c++;
	c->what = what;
	c->ns += ns;
	c->count++;
}

// try makes a call; must ends the run when it fails.
static long try(const char *what, word n, word a, word b, word c, word d, word e)
{
	if (!tracing)
		return sys(n, a, b, c, d, e, 0);
	word begun = now();
	long r = sys(n, a, b, c, d, e, 0);
	count(what, now() - begun);
	return r;
}

static long must(const char *what, const char *object, word n, word a, word b, word c, word d, word e)
{
	long r = try(what, n, a, b, c, d, e);
	if (r < 0)
		fail(what, object, r);
	return r;
}

static void put(const char *path, const char *text)
{
	int fd = must("open a map", path, __NR_openat, AT_FDCWD, (word)path, O_WRONLY | O_CLOEXEC, 0, 0);
	must("write a map", path, __NR_write, fd, (word)text, length(text), 0, 0);
	must("close a map", path, __NR_close, fd, 0, 0, 0, 0);
}

static void map(const char *path, word id)
{
	char text[64];
	append(number(append(number(text, id), " "), id), " 1\n");
	put(path, text);
}

static int own(const struct spot *s) { return s->kind == 'c' || s->kind == 's'; }

static int is_below(const char *path, const char *dir)
{
	word n = length(dir);
	for (word i = 0; i < n; i++)
		if (path[i] != dir[i])
			return 0;
	return path[n] == '/';
}

static char *in_own(char *to, const char *base, int spot) { return number(append(append(to, base), "/"), spot); }

static void copy_tree(struct spot *s, const char *from)
{
	s->tree = must("open_tree", from, __NR_open_tree, AT_FDCWD, (word)from, TREE, 0, 0);
}

static void attributes(const char *what, int fd, const char *path, word flags, word set)
{
	struct mount_attr a = {.attr_set = set};
	must(what, path, __NR_mount_setattr, fd, (word)path, flags, (word)&a, sizeof a);
}

static char made[MAX_PATH]; // the last mount point

// make_point makes the directories and the file that a spot in a cover needs.
static void make_point(const char *base, struct spot *s)
{
	char path[MAX_PATH];
	char *rest = in_own(path, base, s->above);
	append(rest, s->path + length(spots[s->above].path));
	for (char *at = rest + 1; *at; at++)
		if (*at == '/') {
			*at = 0;
			if (!is_below(made, path))
				try("mkdir", __NR_mkdir, (word)path, 0555, 0, 0, 0);
			*at = '/';
		}
	if (s->dir)
		must("mkdir", path, __NR_mkdir, (word)path, DIR_MODE, 0, 0, 0);
	else
		must("mknod", path, __NR_mknod, (word)path, S_IFREG | 0644, 0, 0, 0);
	append(append(made, path), "/");
}

static const char *const dev_links[][2] = {{"pts/ptmx", "/ptmx"}, {"/proc/self/fd", "/fd"}, {"/proc/self/fd/0", "/stdin"}, {"/proc/self/fd/1", "/stdout"}, {"/proc/self/fd/2", "/stderr"}};

// own_tmpfs mounts the one file system of the run and makes all that is shown of it.
static int own_tmpfs(const char *base)
{
	char path[MAX_PATH];
	made[0] = 0;
	must("mount tmpfs", base, __NR_mount, (word) "tmpfs", (word)base, (word) "tmpfs", MS_NOSUID | MS_NODEV, (word) "mode=0755");
	int fd = must("open", base, __NR_openat, AT_FDCWD, (word)base, O_PATH | O_CLOEXEC, 0, 0);
	append(append(path, base), "/empty");
	must("mkdir", path, __NR_mkdir, (word)path, 0, 0, 0, 0);
	must("mount bind", path, __NR_mount, (word)path, (word)path, 0, MS_BIND, 0);
	attributes("mount_setattr", AT_FDCWD, path, 0, MOUNT_ATTR_RDONLY);
	append(append(path, base), "/nothing");
	must("mknod", path, __NR_mknod, (word)path, S_IFREG, 0, 0, 0);
	must("mount bind", path, __NR_mount, (word)path, (word)path, 0, MS_BIND, 0);
	attributes("mount_setattr", AT_FDCWD, path, 0, MOUNT_ATTR_RDONLY);
	for (int i = 0; i < nspots; i++) {
		struct spot *s = &spots[i];
		if (own(s)) {
			char *end = in_own(path, base, i);
			must("mkdir", path, __NR_mkdir, (word)path, s->kind == 'c' ? STICKY : DIR_MODE, 0, 0, 0);
			if (same(s->path, "/dev"))
				for (word l = 0; l < sizeof dev_links / sizeof *dev_links; l++) {
					append(end, dev_links[l][1]);
					must("symlink", path, __NR_symlink, (word)dev_links[l][0], (word)path, 0, 0, 0);
				}
		}
		if (s->above >= 0 && own(&spots[s->above]))
			make_point(base, s);
	}
	return fd;
}

static void move(int tree, int at, const char *path, word flags)
{
	must("move_mount", path, __NR_move_mount, tree, (word) "", at, (word)path, MOVE_MOUNT_F_EMPTY_PATH | flags);
}

static void hide(int tmpfs, const char *path, int dir)
{
	int at = try("open", __NR_openat, AT_FDCWD, (word)path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0, 0);
	if (at < 0)
		return; // nothing there, or out of reach
	int tree = must("open_tree", path, __NR_open_tree, tmpfs, (word)(dir ? "empty" : "nothing"), TREE, 0, 0);
	move(tree, at, "", MOVE_MOUNT_T_EMPTY_PATH);
}

static void attach(int tmpfs, struct spot *s)
{
	switch (s->kind) {
	case 'p':
		must("mount devpts", s->path, __NR_mount, (word) "devpts", (word)s->path, (word) "devpts", MS_NOSUID | MS_NOEXEC, (word) "newinstance,ptmxmode=0666,mode=0620");
		return;
	case 'h':
		hide(tmpfs, s->path, s->dir);
		return;
	case 's':
		attributes("mount_setattr", s->tree, "", AT_EMPTY_PATH, MOUNT_ATTR_RDONLY);
	}
	move(s->tree, AT_FDCWD, s->path, 0);
}

static void mounts(void)
{
	must("mount private", "/", __NR_mount, 0, (word) "/", 0, MS_REC | MS_PRIVATE, 0);
	if (!with.mounts)
		return;
	const char *base = NULL;
	for (int i = 0; i < nspots; i++)
		if (own(&spots[i]) && spots[i].above < 0 && (!base || same(spots[i].path, "/run")))
			base = spots[i].path;
	if (!base)
		fail("no cover to build in", "", 0);
	for (int i = 0; i < nspots; i++)
		if (spots[i].kind == 'w')
			copy_tree(&spots[i], spots[i].from);
	attributes("mount_setattr /", AT_FDCWD, "/", AT_RECURSIVE, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID);
	for (int i = 0; i < nspots; i++)
		if (spots[i].kind == 'v' || spots[i].kind == 'g')
			copy_tree(&spots[i], spots[i].from);
	must("umask", NULL, __NR_umask, 0, 0, 0, 0, 0);
	int tmpfs = own_tmpfs(base);
	char path[MAX_PATH];
	for (int i = 0; i < nspots; i++)
		if (own(&spots[i])) {
			in_own(path, base, i);
			copy_tree(&spots[i], path);
		}
	for (int i = 0; i < nspots; i++)
		if (!is_below(spots[i].path, "/proc"))
			attach(tmpfs, &spots[i]);
	must("umask", NULL, __NR_umask, 022, 0, 0, 0, 0);
	if (!with.proc)
		return;
	must("mount proc", "/proc", __NR_mount, (word) "proc", (word) "/proc", (word) "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, 0);
	for (int i = 0; i < nspots; i++)
		if (is_below(spots[i].path, "/proc"))
			attach(tmpfs, &spots[i]);
}

static void loopback(void)
{
	struct { char name[16]; short flags; char rest[22]; } lo = {"lo", 1 | 64 /* IFF_UP, IFF_RUNNING */, ""};
	int fd = must("socket", NULL, __NR_socket, AF_INET, SOCK_DGRAM | O_CLOEXEC, 0, 0, 0);
	must("bring lo up", NULL, __NR_ioctl, fd, SIOCSIFFLAGS, (word)&lo, 0, 0);
}

#define READ (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define ON_FILES (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | (1 << 14) | (1 << 15))
#define ALL ((1 << 16) - 1) // every right up to ABI 5

static void rule(int rules, int tree, word rights)
{
	struct landlock_path_beneath_attr a = {.allowed_access = rights, .parent_fd = tree};
	must("landlock_add_rule", NULL, __NR_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, (word)&a, 0, 0);
}

static int landlock(void)
{
	word attr[3] = {ALL, 0, 3}; // file system, network, scopes
	int rules = must("landlock_create_ruleset", NULL, __NR_landlock_create_ruleset, (word)attr, sizeof attr, 0, 0, 0);
	int root = must("open", "/", __NR_openat, AT_FDCWD, (word) "/", O_PATH | O_CLOEXEC, 0, 0);
	rule(rules, root, READ);
	for (int i = 0; with.mounts && i < nspots; i++) {
		struct spot *s = &spots[i];
		if (s->kind == 'w' || s->kind == 'c')
			rule(rules, s->tree, s->dir ? ALL : ALL & ON_FILES);
		else if (same(s->path, "/dev"))
			rule(rules, s->tree, ON_FILES & ~LANDLOCK_ACCESS_FS_EXECUTE);
	}
	return rules;
}

static void drop_capabilities(void)
{
	for (int c = 0; c <= CAP_LAST_CAP; c++)
		try("prctl: bounding set", __NR_prctl, PR_CAPBSET_DROP, c, 0, 0, 0);
	must("prctl", NULL, __NR_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {};
	must("capset", NULL, __NR_capset, (word)&header, (word)none, 0, 0, 0);
}

static word uid, gid;

// confine is the child: all layers, then the program.
static void confine(void)
{
	must("prctl", NULL, __NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	word flags = with.mnt * CLONE_NEWNS | with.ipc * CLONE_NEWIPC | with.uts * CLONE_NEWUTS | with.net * (word)CLONE_NEWNET;
	if (flags)
		must("unshare", NULL, __NR_unshare, flags, 0, 0, 0, 0);
	if (with.user) {
		put("/proc/self/setgroups", "deny");
		map("/proc/self/uid_map", uid);
		map("/proc/self/gid_map", gid);
	}
	if (with.mnt)
		mounts();
	if (with.net)
		loopback();
	if (with.mounts) {
		struct rlimit none = {0, 0};
		must("setrlimit", NULL, __NR_setrlimit, RLIMIT_CORE, (word)&none, 0, 0, 0);
		char dir[MAX_PATH];
		long n = must("getcwd", NULL, __NR_getcwd, (word)dir, sizeof dir, 0, 0, 0);
		if (n > 0)
			must("chdir", dir, __NR_chdir, (word)dir, 0, 0, 0, 0); // the mount that is seen there now
	}
	int rules = with.landlock ? landlock() : -1;
	must("close_range", NULL, __NR_close_range, 3, ~0U, 4 /* CLOSE_RANGE_CLOEXEC */, 0, 0);
	if (with.caps)
		drop_capabilities();
	must("prctl", NULL, __NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (with.landlock)
		must("landlock_restrict_self", NULL, __NR_landlock_restrict_self, rules, 0, 0, 0, 0);
	if (with.seccomp)
		must("seccomp", NULL, __NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, (word)&filter, 0, 0);
	if (with.init)
		must("execveat init", NULL, __NR_execveat, self, (word) "", (word)initargs, (word)environment, AT_EMPTY_PATH);
	must("execve", command[0], __NR_execve, (word)command[0], (word)command, (word)environment, 0, 0);
}

// spawn clones a child that shares memory, on a stack of its own, and sleeps
// until it has executed.
static long spawn(word flags, void (*child)(void))
{
	long pid;
	register word r10 __asm__("r10") = 0;
	register word r8 __asm__("r8") = 0;
	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "call *%[child]\n\t"
			 "hlt\n"
			 "1:"
			 : "=a"(pid)
			 : "a"(__NR_clone), "D"(CLONE_VM | CLONE_VFORK | SIGCHLD | flags), "S"(stack + sizeof stack), "d"(0), "r"(r10), "r"(r8), [child] "b"(child)
			 : "rcx", "r11", "memory");
	if (pid < 0)
		fail("clone", NULL, pid);
	return pid;
}

static int wait_for(long pid)
{
	int status = 0;
	long r;
	do
		r = sys(__NR_wait4, -1, (word)&status, 0, 0, 0, 0);
	while (r != pid && r != -10 /* ECHILD */);
	return status & 127 ? 128 + (status & 127) : status >> 8 & 255;
}

static int run(void)
{
	word flags = with.user * CLONE_NEWUSER | with.pid * CLONE_NEWPID;
	word begun = tracing ? now() : 0;
	long pid = spawn(flags, confine);
	word then = tracing ? now() : 0;
	int code = wait_for(pid);
	if (tracing) {
		count("= until executed", then - begun);
		count("= until reaped", now() - begun);
	}
	return code;
}

static void execute(void)
{
	sys(__NR_execve, (word)command[0], (word)command, (word)environment, 0, 0, 0);
	sys(__NR_exit_group, 127, 0, 0, 0, 0, 0);
}

static void print_costs(void)
{
	char line[256];
	for (struct cost *c = costs; c->what; c++) {
		char *at = append(number(append(number(line, c->ns), "\t"), c->count), "\t");
		append(append(at, c->what), "\n");
		say(1, line);
		*c = (struct cost){};
	}
}

static int serve(void)
{
	char byte;
	while (sys(__NR_read, 0, (word)&byte, 1, 0, 0, 0) == 1) {
		word begun = now();
		int code = run();
		word took = now() - begun;
		if (code)
			return code;
		if (tracing)
			print_costs();
		else
			sys(__NR_write, 1, (word)&took, sizeof took, 0, 0, 0);
	}
	return 0;
}

static void load(const char *file)
{
	int fd = must("open", file, __NR_openat, AT_FDCWD, (word)file, O_RDONLY | O_CLOEXEC, 0, 0);
	long n = must("read", file, __NR_read, fd, (word)program, sizeof program, 0, 0);
	filter.len = n / sizeof *program;
	sys(__NR_close, fd, 0, 0, 0, 0, 0);
}

static void add_spot(char *text)
{
	if (nspots == MAX_SPOTS)
		fail("too many spots", text, 0);
	struct spot *s = &spots[nspots];
	s->kind = text[0];
	s->dir = text[1] == ':';
	s->path = s->from = text + (s->dir ? 2 : 3);
	s->above = -1;
	for (int i = 0; i < nspots; i++)
		if (is_below(s->path, spots[i].path))
			s->above = i;
	nspots++;
}

// behind returns what follows a prefix, or nothing.
static char *behind(char *text, const char *prefix)
{
	while (*prefix && *text == *prefix)
		text++, prefix++;
	return *prefix ? NULL : text;
}

static void parse(char *word)
{
	static const struct { const char *name; char *flag; } layers[] = {
		{"user", &with.user}, {"pid", &with.pid}, {"mnt", &with.mnt}, {"ipc", &with.ipc}, {"uts", &with.uts}, {"net", &with.net},
		{"mounts", &with.mounts}, {"proc", &with.proc}, {"landlock", &with.landlock}, {"caps", &with.caps}, {"init", &with.init},
	};
	for (unsigned long i = 0; i < sizeof layers / sizeof *layers; i++)
		if (same(word, layers[i].name)) {
			*layers[i].flag = 1;
			return;
		}
	char *rest;
	if ((rest = behind(word, "seccomp=")))
		load(with.seccomp = rest);
	else if ((rest = behind(word, "from:")) && nspots)
		spots[nspots - 1].from = rest;
	else if (word[0] && (word[1] == ':' || (word[1] == '.' && word[2] == ':')))
		add_spot(word);
	else
		fail("unknown word", word, 0);
}

// start is main, and in a program of its own the init of the sandbox.
__attribute__((noreturn, used)) void start(word *sp)
{
	int argc = sp[0];
	char **argv = (char **)(sp + 1);
	environment = argv + argc + 1;
	int code = 0, serving = 0, i = 1;
	if (same(argv[0], "floor-init")) {
		command = argv + 1;
		sys(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0);
		sys(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0, 0);
		code = wait_for(spawn(0, execute));
		sys(__NR_exit_group, code, 0, 0, 0, 0, 0);
	}
	if (argc > 1 && (same(argv[1], "serve") || same(argv[1], "trace"))) {
		serving = 1;
		tracing = argv[1][0] == 't';
		i = 2;
	}
	for (; i < argc && !same(argv[i], "--"); i++)
		parse(argv[i]);
	if (i + 1 >= argc)
		fail("no program", NULL, 0);
	command = argv + i + 1;
	uid = sys(__NR_geteuid, 0, 0, 0, 0, 0, 0);
	gid = sys(__NR_getegid, 0, 0, 0, 0, 0, 0);
	if (with.init) {
		initargs[0] = "floor-init";
		for (int k = 0; command[k] && k < 62; k++)
			initargs[k + 1] = command[k];
		self = must("open", "/proc/self/exe", __NR_openat, AT_FDCWD, (word) "/proc/self/exe", O_PATH | O_CLOEXEC, 0, 0);
	}
	code = serving ? serve() : run();
	sys(__NR_exit_group, code, 0, 0, 0, 0, 0);
	__builtin_unreachable();
}

__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall start\n\thlt\n");

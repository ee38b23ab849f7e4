#include "textflag.h"

// The code of pid 1, copied at run time into an ELF file of its own: it must be
// position independent, and it has neither Go's registers nor a Go stack. All
// signals are blocked for its whole life, so memory below SP is its own.
//
// argv[1] is errfd, lifeline, statusfd, the signal mask of the command, the
// descriptor that becomes its standard error, the one over which it is let go, or
// 0xffff, and the one of its order, or 0xffff: 16 letters each, one from A on per
// nibble. argv[2] is the file to execute, argv[3…] its argv; with an order, see
// order_linux.go, both are there, and its environment.
//
// R9 stack at entry · R12 errfd · R13 lifeline · R14 mask, then the command's
// pid · R15 statusfd · BX signalfd
TEXT ·initCode(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ	SP, R9
	MOVQ	16(R9), SI
	LEAQ	-112(R9), DI
number:
	XORL	DX, DX
	MOVL	$16, CX
letter:
	SHLQ	$4, DX
	MOVBLZX	(SI), AX
	SUBL	$65, AX
	ORQ	AX, DX
	INCQ	SI
	DECL	CX
	JNE	letter
	MOVQ	DX, (DI)
	ADDQ	$8, DI
	CMPB	(SI), $0
	JNE	number
	MOVQ	-112(R9), R12
	MOVQ	-104(R9), R13
	MOVQ	-96(R9), R15
	MOVQ	-88(R9), R14

	MOVQ	$-1, AX
	MOVQ	AX, -8(R9)
	MOVQ	R14, -16(R9)
	MOVL	$14, AX			// rt_sigprocmask(SIG_SETMASK, all)
	MOVL	$2, DI
	LEAQ	-8(R9), SI
	XORL	DX, DX
	MOVL	$8, R10
	SYSCALL
	MOVL	$157, AX		// prctl(PR_SET_PDEATHSIG, SIGKILL): the exec may have cleared it
	MOVL	$1, DI
	MOVL	$9, SI
	XORL	DX, DX
	XORL	R10, R10
	XORL	R8, R8
	SYSCALL
	MOVQ	$0x74696e692d786273, AX	// "sbx-init"
	MOVQ	AX, -32(R9)
	MOVQ	$0, -24(R9)
	MOVL	$157, AX		// prctl(PR_SET_NAME)
	MOVL	$15, DI
	LEAQ	-32(R9), SI
	SYSCALL
	MOVL	$436, AX		// close_range(3, ~0, CLOSE_RANGE_CLOEXEC)
	MOVL	$3, DI
	MOVL	$0xffffffff, SI
	MOVL	$4, DX
	SYSCALL
	CMPQ	-72(R9), $0xffff
	JEQ	released
	MOVL	$1, AX			// write 8 bytes: we are here
	MOVQ	R15, DI
	LEAQ	-56(R9), SI
	MOVL	$8, DX
	SYSCALL
	XORL	AX, AX			// read: the caller is done
	MOVQ	-72(R9), DI
	LEAQ	-56(R9), SI
	MOVL	$1, DX
	SYSCALL
	CMPQ	AX, $1
	JNE	gone
released:
	MOVL	$157, AX		// prctl(PR_SET_DUMPABLE, 0): /proc/1 is closed to the command
	MOVL	$4, DI
	XORL	SI, SI
	XORL	DX, DX
	XORL	R10, R10
	XORL	R8, R8
	SYSCALL
	CMPQ	-64(R9), $0xffff
	JEQ	ordered
	MOVQ	-64(R9), R8
	MOVQ	R9, BX
	MOVL	$9, AX			// mmap(ORDER, 16 MiB, read and write, private, fixed)
	MOVL	$0x20000000, DI
	MOVL	$0x1000000, SI
	MOVL	$3, DX
	MOVL	$0x12, R10
	XORL	R9, R9
	SYSCALL
	MOVQ	BX, R9
	CMPQ	AX, $0xfffffffffffff001
	JCC	noorder
	MOVQ	32(AX), DI
	TESTQ	DI, DI
	JEQ	filter
	MOVL	$80, AX			// chdir
	SYSCALL
	TESTQ	AX, AX
	JNE	noorder
filter:
	MOVL	$0x20000000, AX
	MOVQ	40(AX), DI
	TESTQ	DI, DI
	JEQ	unscoped
	DECQ	DI
	MOVL	$446, AX		// landlock_restrict_self
	XORL	SI, SI
	SYSCALL
	TESTQ	AX, AX
	JNE	noorder
unscoped:
	MOVL	$0x20000000, AX
	MOVQ	24(AX), DX
	TESTQ	DX, DX
	JEQ	ordered
	MOVL	$317, AX		// seccomp(SECCOMP_SET_MODE_FILTER)
	MOVL	$1, DI
	XORL	SI, SI
	SYSCALL
	TESTQ	AX, AX
	JNE	noorder
ordered:
	MOVL	$289, AX		// signalfd4(-1, all, SFD_CLOEXEC|SFD_NONBLOCK)
	MOVQ	$-1, DI
	LEAQ	-8(R9), SI
	MOVL	$8, DX
	MOVL	$0x80800, R10
	SYSCALL
	MOVQ	AX, BX
	MOVL	$56, AX			// clone(CLONE_VM|CLONE_VFORK|SIGCHLD)
	MOVL	$0x4111, DI
	XORL	SI, SI
	XORL	DX, DX
	XORL	R10, R10
	XORL	R8, R8
	SYSCALL
	TESTQ	AX, AX
	JEQ	child
	CMPQ	AX, $0xfffffffffffff001
	JCC	noclone
	MOVQ	AX, R14
	CMPQ	-72(R9), $0xffff	// the program above may keep the pipe of errors open
	JEQ	begun
	MOVQ	$-1, AX
	MOVQ	AX, -280(R9)
	MOVL	$1, AX			// write: no error, unless the command has written one
	MOVQ	R12, DI
	LEAQ	-280(R9), SI
	MOVL	$16, DX
	SYSCALL
begun:

	MOVL	$292, AX		// dup3: lifeline 0, signals 1, status 2; the rest is closed, so
	MOVQ	R13, DI			// that pipes end when the command closes them
	XORL	SI, SI
	XORL	DX, DX
	SYSCALL
	MOVL	$292, AX
	MOVQ	BX, DI
	MOVL	$1, SI
	SYSCALL
	MOVL	$292, AX
	MOVQ	R15, DI
	MOVL	$2, SI
	SYSCALL
	MOVL	$436, AX		// close_range(3, ~0)
	MOVL	$3, DI
	MOVL	$0xffffffff, SI
	XORL	DX, DX
	SYSCALL

wait:
	MOVQ	$0x100000000, AX	// {fd 0, POLLIN}, {fd 1, POLLIN}
	MOVQ	AX, -48(R9)
	INCQ	AX
	MOVQ	AX, -40(R9)
	MOVL	$7, AX			// poll
	LEAQ	-48(R9), DI
	MOVL	$2, SI
	MOVQ	$-1, DX
	SYSCALL
	CMPW	-42(R9), $0		// the lifeline hung up: who started us is gone
	JNE	gone
	XORL	AX, AX			// read(signalfd)
	MOVL	$1, DI
	LEAQ	-256(R9), SI
	MOVL	$128, DX
	SYSCALL
	CMPQ	AX, $128
	JNE	wait
	MOVL	-256(R9), SI		// ssi_signo
	CMPL	SI, $17
	JEQ	reap
	MOVL	-248(R9), AX		// ssi_code: made by the kernel, the terminal sent it to all
	TESTL	AX, AX
	JGT	wait
	MOVL	-244(R9), AX		// ssi_pid: sent from inside
	TESTL	AX, AX
	JNE	wait
	MOVL	$62, AX			// kill(command)
	MOVQ	R14, DI
	SYSCALL
	JMP	wait

reap:
	MOVL	$61, AX			// wait4(-1, WNOHANG)
	MOVQ	$-1, DI
	LEAQ	-24(R9), SI
	MOVL	$1, DX
	XORL	R10, R10
	SYSCALL
	TESTQ	AX, AX
	JLE	wait
	CMPQ	AX, R14
	JNE	reap
	MOVL	-24(R9), AX
	MOVQ	AX, -432(R9)
	MOVL	$98, AX			// getrusage(RUSAGE_CHILDREN)
	MOVQ	$-1, DI
	LEAQ	-424(R9), SI
	SYSCALL
	MOVL	$1, AX			// write the wait status and what the tree used
	MOVL	$2, DI
	LEAQ	-432(R9), SI
	MOVL	$152, DX
	SYSCALL
	MOVL	-24(R9), DI
	MOVL	DI, AX
	ANDL	$127, AX
	JNE	signaled
	SHRL	$8, DI
	ANDL	$255, DI
	JMP	exit
signaled:
	ADDL	$128, AX
	MOVL	AX, DI
exit:
	MOVL	$231, AX		// exit_group
	SYSCALL
	INT	$3
gone:
	MOVL	$137, DI
	JMP	exit

child:
	MOVL	$14, AX			// rt_sigprocmask(SIG_SETMASK, the command's)
	MOVL	$2, DI
	LEAQ	-16(R9), SI
	XORL	DX, DX
	MOVL	$8, R10
	SYSCALL
	MOVL	$292, AX		// dup3: standard error, if it is not there
	MOVQ	-80(R9), DI
	MOVL	$2, SI
	XORL	DX, DX
	SYSCALL
	MOVQ	0(R9), DX		// envp stands behind argv
	LEAQ	16(R9)(DX*8), DX
	MOVQ	24(R9), DI
	LEAQ	32(R9), SI
	CMPQ	-64(R9), $0xffff
	JEQ	execute
	MOVL	$0x20000000, AX
	MOVQ	0(AX), DI
	MOVQ	8(AX), SI
	MOVQ	16(AX), DX
execute:
	MOVL	$59, AX			// execve
	SYSCALL
	MOVL	$2000, CX
	JMP	failed
noorder:
	MOVL	$2002, CX
	JMP	failed
noclone:
	MOVL	$2001, CX
failed:
	NEGQ	AX
	MOVQ	CX, -280(R9)
	MOVQ	AX, -272(R9)
	MOVL	$1, AX			// write index and errno
	MOVQ	R12, DI
	LEAQ	-280(R9), SI
	MOVL	$16, DX
	SYSCALL
	MOVL	$127, DI
	JMP	exit
	BYTE	$0x73; BYTE $0x62; BYTE $0x78; BYTE $0x2d; BYTE $0x65; BYTE $0x6e; BYTE $0x64; BYTE $0x21

// func initAddr() uintptr
TEXT ·initAddr(SB), NOSPLIT, $0-8
	LEAQ	·initCode(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

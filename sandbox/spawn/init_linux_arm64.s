#include "textflag.h"

// The code of pid 1, copied at run time into an ELF file of its own: it must be
// position independent, and it has neither Go's registers nor a Go stack. All
// signals are blocked for its whole life, so memory below RSP is its own. RSP
// itself stays where it is: the linker counts what moves it.
//
// argv[1] is errfd, lifeline, statusfd, the signal mask of the command, the
// descriptor that becomes its standard error, the one over which it is let go, or
// 0xffff, and the one of its order, or 0xffff: 16 letters each, one from A on per
// nibble. argv[2] is the file to execute, argv[3…] its argv; with an order, see
// order_linux.go, both are there, and its environment.
//
// R19 512 bytes of its own below the stack · R20 errfd · R21 lifeline · R22 the
// command's pid · R23 statusfd · R24 signalfd · R25 stack at entry
//
// In the 512 bytes:
#define ENDING  80	/* the wait status, then struct rusage */
#define REPORT  232	/* index and errno */
#define SIGNAL  256	/* struct signalfd_siginfo */
#define NUMBERS 400	/* of argv[1]: 7 words, of which */
#define MASK    424
#define STDERR  432
#define RELEASE 440
#define ORDER   448
#define WORD8   456	/* what is read or written for nothing but that */
#define POLL    464	/* two of struct pollfd */
#define NAME    480
#define STATUS  488
#define ALL     504	/* the mask of all signals */

TEXT ·initCode(SB), NOSPLIT|NOFRAME, $0-0
	MOVD	RSP, R25
	SUB	$512, R25, R19
	MOVD	16(R25), R1
	ADD	$NUMBERS, R19, R2
number:
	MOVD	ZR, R3
	MOVD	$16, R4
letter:
	MOVBU.P	1(R1), R5
	SUB	$65, R5
	ORR	R3<<4, R5, R3
	SUB	$1, R4
	CBNZ	R4, letter
	MOVD.P	R3, 8(R2)
	MOVBU	(R1), R5
	CBNZ	R5, number
	LDP	NUMBERS(R19), (R20, R21)
	MOVD	(NUMBERS+16)(R19), R23

	MOVD	$-1, R0
	MOVD	R0, ALL(R19)
	MOVD	$135, R8		// rt_sigprocmask(SIG_SETMASK, all)
	MOVD	$2, R0
	ADD	$ALL, R19, R1
	MOVD	ZR, R2
	MOVD	$8, R3
	SVC
	MOVD	$167, R8		// prctl(PR_SET_PDEATHSIG, SIGKILL): the exec may have cleared it
	MOVD	$1, R0
	MOVD	$9, R1
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	ZR, R4
	SVC
	MOVD	$0x2d786273, R0		// "sbx-"
	MOVW	R0, NAME(R19)
	MOVD	$0x74696e69, R0		// "init"
	MOVW	R0, (NAME+4)(R19)
	MOVD	ZR, (NAME+8)(R19)
	MOVD	$167, R8		// prctl(PR_SET_NAME)
	MOVD	$15, R0
	ADD	$NAME, R19, R1
	SVC
	MOVD	$436, R8		// close_range(3, ~0, CLOSE_RANGE_CLOEXEC)
	MOVD	$3, R0
	MOVD	$0xffffffff, R1
	MOVD	$4, R2
	SVC
	MOVD	$0xffff, R9
	MOVD	RELEASE(R19), R10
	CMP	R9, R10
	BEQ	released
	MOVD	$64, R8			// write 8 bytes: we are here
	MOVD	R23, R0
	ADD	$WORD8, R19, R1
	MOVD	$8, R2
	SVC
	MOVD	$63, R8			// read: the caller is done
	MOVD	RELEASE(R19), R0
	ADD	$WORD8, R19, R1
	MOVD	$1, R2
	SVC
	CMP	$1, R0
	BNE	gone
released:
	MOVD	$167, R8		// prctl(PR_SET_DUMPABLE, 0): /proc/1 is closed to the command
	MOVD	$4, R0
	MOVD	ZR, R1
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	ZR, R4
	SVC
	MOVD	$0xffff, R9
	MOVD	ORDER(R19), R4
	CMP	R9, R4
	BEQ	ordered
	MOVD	$222, R8		// mmap(orderBase, 16 MiB, read and write, private, fixed)
	MOVD	$0x20000000, R0
	MOVD	$0x1000000, R1
	MOVD	$3, R2
	MOVD	$0x12, R3
	MOVD	ZR, R5
	SVC
	CMN	$4095, R0
	BHS	noorder
	MOVD	$0x20000000, R9
	MOVD	32(R9), R0
	CBZ	R0, filter
	MOVD	$49, R8			// chdir
	SVC
	CBNZ	R0, noorder
filter:
	MOVD	$0x20000000, R9
	MOVD	40(R9), R0
	CBZ	R0, unscoped
	SUB	$1, R0
	MOVD	$446, R8		// landlock_restrict_self
	MOVD	ZR, R1
	SVC
	CBNZ	R0, noorder
unscoped:
	MOVD	$0x20000000, R9
	MOVD	24(R9), R2
	CBZ	R2, ordered
	MOVD	$277, R8		// seccomp(SECCOMP_SET_MODE_FILTER)
	MOVD	$1, R0
	MOVD	ZR, R1
	SVC
	CBNZ	R0, noorder
ordered:
	MOVD	$74, R8			// signalfd4(-1, all, SFD_CLOEXEC|SFD_NONBLOCK)
	MOVD	$-1, R0
	ADD	$ALL, R19, R1
	MOVD	$8, R2
	MOVD	$0x80800, R3
	SVC
	MOVD	R0, R24
	MOVD	$220, R8		// clone(CLONE_VM|CLONE_VFORK|SIGCHLD)
	MOVD	$0x4111, R0
	MOVD	ZR, R1
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	ZR, R4
	SVC
	CBZ	R0, child
	CMN	$4095, R0
	BHS	noclone
	MOVD	R0, R22
	MOVD	$0xffff, R9
	MOVD	RELEASE(R19), R10	// the program above may keep the pipe of errors open
	CMP	R9, R10
	BEQ	begun
	MOVD	$-1, R0
	MOVD	R0, REPORT(R19)
	MOVD	$64, R8			// write: no error, unless the command has written one
	MOVD	R20, R0
	ADD	$REPORT, R19, R1
	MOVD	$16, R2
	SVC
begun:
	MOVD	$24, R8			// dup3: lifeline 0, signals 1, status 2; the rest is closed, so
	MOVD	R21, R0			// that pipes end when the command closes them
	MOVD	ZR, R1
	MOVD	ZR, R2
	SVC
	MOVD	$24, R8
	MOVD	R24, R0
	MOVD	$1, R1
	SVC
	MOVD	$24, R8
	MOVD	R23, R0
	MOVD	$2, R1
	SVC
	MOVD	$436, R8		// close_range(3, ~0)
	MOVD	$3, R0
	MOVD	$0xffffffff, R1
	MOVD	ZR, R2
	SVC

wait:
	MOVD	$0x100000000, R0	// {fd 0, POLLIN}, {fd 1, POLLIN}
	ADD	$1, R0, R1
	STP	(R0, R1), POLL(R19)
	MOVD	$73, R8			// ppoll, for ever
	ADD	$POLL, R19, R0
	MOVD	$2, R1
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	$8, R4
	SVC
	MOVHU	(POLL+6)(R19), R0	// the lifeline hung up: who started us is gone
	CBNZ	R0, gone
	MOVD	$63, R8			// read(signalfd)
	MOVD	$1, R0
	ADD	$SIGNAL, R19, R1
	MOVD	$128, R2
	SVC
	CMP	$128, R0
	BNE	wait
	MOVWU	SIGNAL(R19), R1		// ssi_signo
	CMP	$17, R1
	BEQ	reap
	MOVW	(SIGNAL+8)(R19), R0	// ssi_code: made by the kernel, the terminal sent it to all
	CMP	$0, R0
	BGT	wait
	MOVWU	(SIGNAL+12)(R19), R0	// ssi_pid: sent from inside
	CBNZ	R0, wait
	MOVD	$129, R8		// kill(command)
	MOVD	R22, R0
	SVC
	B	wait

reap:
	MOVD	$260, R8		// wait4(-1, WNOHANG)
	MOVD	$-1, R0
	ADD	$STATUS, R19, R1
	MOVD	$1, R2
	MOVD	ZR, R3
	SVC
	CMP	$0, R0
	BLE	wait
	CMP	R22, R0
	BNE	reap
	MOVWU	STATUS(R19), R0
	MOVD	R0, ENDING(R19)
	MOVD	$165, R8		// getrusage(RUSAGE_CHILDREN)
	MOVD	$-1, R0
	ADD	$(ENDING+8), R19, R1
	SVC
	MOVD	$64, R8			// write the wait status and what the tree used
	MOVD	$2, R0
	ADD	$ENDING, R19, R1
	MOVD	$152, R2
	SVC
	MOVWU	STATUS(R19), R1
	AND	$127, R1, R0
	CBNZ	R0, signaled
	UBFX	$8, R1, $8, R0
	B	exit
signaled:
	ADD	$128, R0
exit:
	MOVD	$94, R8			// exit_group
	SVC
	BRK
gone:
	MOVD	$137, R0
	B	exit

child:
	MOVD	$135, R8		// rt_sigprocmask(SIG_SETMASK, the command's)
	MOVD	$2, R0
	ADD	$MASK, R19, R1
	MOVD	ZR, R2
	MOVD	$8, R3
	SVC
	MOVD	$24, R8			// dup3: standard error, if it is not there
	MOVD	STDERR(R19), R0
	MOVD	$2, R1
	MOVD	ZR, R2
	SVC
	MOVD	ORDER(R19), R4
	MOVD	$0xffff, R9
	CMP	R9, R4
	BEQ	plain
	MOVD	$0x20000000, R9
	LDP	0(R9), (R0, R1)
	MOVD	16(R9), R2
	B	execute
plain:
	MOVD	0(R25), R2		// envp stands behind argv
	ADD	$16, R25, R3
	ADD	R2<<3, R3, R2
	MOVD	24(R25), R0
	ADD	$32, R25, R1
execute:
	MOVD	$221, R8		// execve
	SVC
	MOVD	$2000, R9
	B	failed
noorder:
	MOVD	$2002, R9
	B	failed
noclone:
	MOVD	$2001, R9
failed:
	NEG	R0, R0
	STP	(R9, R0), REPORT(R19)
	MOVD	$64, R8			// write index and errno
	MOVD	R20, R0
	ADD	$REPORT, R19, R1
	MOVD	$16, R2
	SVC
	MOVD	$127, R0
	B	exit
	WORD	$0x2d786273		// "sbx-end!"
	WORD	$0x21646e65

// func initAddr() uintptr
TEXT ·initAddr(SB), NOSPLIT, $0-8
	MOVD	$·initCode(SB), R0
	MOVD	R0, ret+0(FP)
	RET

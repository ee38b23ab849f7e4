#include "textflag.h"

// func rawClone(nr, a, b uintptr, c *context) (pid, errno uintptr)
//
// The child shares the parent's memory and has no g: it calls nothing, touches
// only its own registers, the context and the table, and ends in execve or exit.
TEXT ·rawClone(SB), NOSPLIT|NOFRAME, $0-48
	MOVQ	nr+0(FP), AX
	MOVQ	a+8(FP), DI
	MOVQ	b+16(FP), SI
	MOVQ	c+24(FP), R12
	XORL	DX, DX
	XORL	R10, R10
	XORL	R8, R8
	SYSCALL
	TESTQ	AX, AX
	JEQ	child
	CMPQ	AX, $0xfffffffffffff001
	JCC	failed
	MOVQ	AX, pid+32(FP)
	MOVQ	$0, errno+40(FP)
	RET
failed:
	NEGQ	AX
	MOVQ	$0, pid+32(FP)
	MOVQ	AX, errno+40(FP)
	RET

child:
	MOVQ	0(R12), R13		// step
	XORL	BX, BX			// index
next:
	CMPQ	BX, 8(R12)
	JCC	ended
	MOVQ	0(R13), AX
	MOVQ	8(R13), DI
	MOVQ	16(R13), SI
	MOVQ	24(R13), DX
	MOVQ	32(R13), R10
	MOVQ	40(R13), R8
	MOVQ	48(R13), R9
	CMPQ	AX, $-1
	JEQ	differ
	CMPQ	AX, $-2
	JEQ	same
	TESTQ	$4, 64(R13)
	JEQ	third
	MOVQ	0(DI), DI
third:
	TESTQ	$8, 64(R13)
	JEQ	call
	MOVQ	0(DX), DX
call:
	SYSCALL
	TESTQ	$16, 64(R13)
	JNE	want
	CMPQ	AX, $0xfffffffffffff001
	JCC	error
	MOVQ	56(R13), CX
	TESTQ	CX, CX
	JEQ	stored
	MOVQ	AX, 0(CX)
stored:
	TESTQ	$2, 64(R13)
	JEQ	done
	TESTQ	AX, AX
	JEQ	done
	MOVL	$1, AX			// EPERM: a result that should have been 0
	JMP	report
error:
	TESTQ	$1, 64(R13)
	JNE	done
	NEGQ	AX
	TESTQ	$32, 64(R13)
	JEQ	report
	CMPQ	AX, $2			// ENOENT
	JEQ	skip
	CMPQ	AX, $9			// EBADF: of a step that was left out
	JEQ	skip
	CMPQ	AX, $13			// EACCES
	JEQ	skip
	CMPQ	AX, $20			// ENOTDIR
	JEQ	skip
	CMPQ	AX, $40			// ELOOP
	JNE	report
skip:
	MOVQ	72(R13), CX
	ADDQ	CX, BX
	IMULQ	$80, CX
	ADDQ	CX, R13
	JMP	done
want:					// the errno that must come
	NEGQ	AX
	CMPQ	AX, 72(R13)
	JEQ	done
	CMPQ	AX, $0
	JLE	worked
	CMPQ	AX, $4096
	JLT	report
worked:					// it should not have worked
	MOVL	$1, AX			// EPERM
	JMP	report
same:
	MOVQ	0(DI), AX
	CMPQ	AX, 0(SI)
	JEQ	done
	MOVL	$116, AX		// ESTALE
	JMP	report
differ:
	MOVQ	0(DI), AX
	CMPQ	AX, 0(SI)
	JNE	done
	MOVL	$1, AX			// EPERM
	JMP	report
done:
	ADDQ	$80, R13
	INCQ	BX
	JMP	next
ended:					// a plan ends in execve: this is none
	MOVL	$38, AX			// ENOSYS
report:
	MOVQ	BX, 24(R12)
	MOVQ	AX, 32(R12)
	MOVL	$1, AX			// write
	MOVQ	16(R12), DI
	LEAQ	24(R12), SI
	MOVL	$16, DX
	SYSCALL
	MOVL	$231, AX		// exit_group
	MOVL	$127, DI
	SYSCALL
	INT	$3

#include "textflag.h"

// func rawClone(nr, a, b uintptr, c *context) (pid, errno uintptr)
//
// The child shares the parent's memory and has no g: it calls nothing, touches
// only its own registers, the context and the table, and ends in execve or exit.
//
// R19 context · R20 step · R21 index · R22 flags of the step
TEXT ·rawClone(SB), NOSPLIT|NOFRAME, $0-48
	MOVD	nr+0(FP), R8
	MOVD	a+8(FP), R0
	MOVD	b+16(FP), R1
	MOVD	c+24(FP), R19
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	ZR, R4
	SVC
	CBZ	R0, child
	CMN	$4095, R0
	BHS	failed
	MOVD	R0, pid+32(FP)
	MOVD	ZR, errno+40(FP)
	RET
failed:
	NEG	R0, R0
	MOVD	ZR, pid+32(FP)
	MOVD	R0, errno+40(FP)
	RET

child:
	MOVD	0(R19), R20
	MOVD	ZR, R21
next:
	MOVD	8(R19), R9
	CMP	R9, R21
	BHS	ended
	MOVD	0(R20), R8
	LDP	8(R20), (R0, R1)
	LDP	24(R20), (R2, R3)
	LDP	40(R20), (R4, R5)
	MOVD	64(R20), R22
	CMN	$1, R8
	BEQ	differ
	CMN	$2, R8
	BEQ	same
	TBZ	$2, R22, third
	MOVD	(R0), R0
third:
	TBZ	$3, R22, call
	MOVD	(R2), R2
call:
	SVC
	TBNZ	$4, R22, want
	CMN	$4095, R0
	BHS	error
	MOVD	56(R20), R9
	CBZ	R9, stored
	MOVD	R0, (R9)
stored:
	TBZ	$1, R22, done
	CBZ	R0, done
	MOVD	$1, R0			// EPERM: a result that should have been 0
	B	report
error:
	TBNZ	$0, R22, done
	NEG	R0, R0
	TBZ	$5, R22, report
	CMP	$2, R0			// ENOENT
	BEQ	skip
	CMP	$9, R0			// EBADF: of a step that was left out
	BEQ	skip
	CMP	$13, R0			// EACCES
	BEQ	skip
	CMP	$20, R0			// ENOTDIR
	BEQ	skip
	CMP	$40, R0			// ELOOP
	BNE	report
skip:
	MOVD	72(R20), R9
	ADD	R9, R21
	MOVD	$80, R10
	MADD	R10, R20, R9, R20
	B	done
want:					// the errno that must come
	NEG	R0, R0
	MOVD	72(R20), R9
	CMP	R9, R0
	BEQ	done
	CMP	$0, R0
	BLE	worked
	CMP	$4095, R0
	BLE	report
worked:					// it should not have worked
	MOVD	$1, R0			// EPERM
	B	report
same:
	LDAR	(R0), R9		// another core may have written it: see Latch
	MOVD	(R1), R10
	CMP	R10, R9
	BEQ	done
	MOVD	$116, R0		// ESTALE
	B	report
differ:
	MOVD	(R0), R9
	MOVD	(R1), R10
	CMP	R10, R9
	BNE	done
	MOVD	$1, R0			// EPERM
	B	report
done:
	ADD	$80, R20
	ADD	$1, R21
	B	next
ended:					// a plan ends in execve: this is none
	MOVD	$38, R0			// ENOSYS
report:
	MOVD	R21, 24(R19)
	MOVD	R0, 32(R19)
	MOVD	$64, R8			// write
	MOVD	16(R19), R0
	ADD	$24, R19, R1
	MOVD	$16, R2
	SVC
	MOVD	$94, R8			// exit_group
	MOVD	$127, R0
	SVC
	BRK

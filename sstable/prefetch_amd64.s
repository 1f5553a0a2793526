//go:build gc && !purego

#include "textflag.h"

// func prefetch(p []byte)
TEXT ·prefetch(SB), NOSPLIT, $0-24
	MOVQ p_base+0(FP), AX
	MOVQ p_len+8(FP), CX
	ADDQ AX, CX
	ANDQ $~63, AX // or a last line that is begun would be missed

line:
	CMPQ AX, CX
	JAE  done
	PREFETCHT0 (AX)
	ADDQ $64, AX
	JMP  line

done:
	RET

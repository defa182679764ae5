#include "textflag.h"

// func dotAVX2(query *int16, codes *byte, n int) int32
//
// Codes are widened to 16 bits, multiplied, and added in pairs; two sums need not wait for each other.
TEXT ·dotAVX2(SB), NOSPLIT, $0-28
	MOVQ query+0(FP), SI
	MOVQ codes+8(FP), DI
	MOVQ n+16(FP), CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	XORQ AX, AX
	SUBQ $16, CX
	JMP compare
pairs:
	VPMOVSXBW (DI)(AX*1), Y2
	VPMOVSXBW 16(DI)(AX*1), Y3
	VPMADDWD (SI)(AX*2), Y2, Y2
	VPMADDWD 32(SI)(AX*2), Y3, Y3
	VPADDD Y2, Y0, Y0
	VPADDD Y3, Y1, Y1
	ADDQ $32, AX
compare:
	CMPQ AX, CX
	JLT pairs
	JGT done
	VPMOVSXBW (DI)(AX*1), Y2
	VPMADDWD (SI)(AX*2), Y2, Y2
	VPADDD Y2, Y0, Y0
done:
	VPADDD Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD X1, X0, X0
	VPSHUFD $0x4e, X0, X1
	VPADDD X1, X0, X0
	VPSHUFD $0xb1, X0, X1
	VPADDD X1, X0, X0
	VMOVD X0, AX
	MOVL AX, ret+24(FP)
	VZEROUPPER
	RET

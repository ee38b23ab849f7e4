package filter

import _ "embed" // programs

//go:embed base_arm64.bpf
var baseCode string

//go:embed nounix_arm64.bpf
var noUnixCode string

//go:embed nonet_arm64.bpf
var noNetCode string

// auditArch is AUDIT_ARCH_AARCH64.
const auditArch = 0xc00000b7

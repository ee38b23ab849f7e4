package filter

import _ "embed" // programs

//go:embed base_arm64.bpf
var baseCode string

//go:embed base_nounix_arm64.bpf
var noUnixCode string

//go:embed base_nonet_arm64.bpf
var noNetCode string

//go:embed base_nounix_nonet_arm64.bpf
var noSocketCode string

// auditArch is AUDIT_ARCH_AARCH64.
const auditArch = 0xc00000b7

package filter

import _ "embed" // programs

//go:embed base_amd64.bpf
var baseCode string

//go:embed base_nounix_amd64.bpf
var noUnixCode string

//go:embed base_nonet_amd64.bpf
var noNetCode string

//go:embed base_nounix_nonet_amd64.bpf
var noSocketCode string

// auditArch is AUDIT_ARCH_X86_64.
const auditArch = 0xc000003e

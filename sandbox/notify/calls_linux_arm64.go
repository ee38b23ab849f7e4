package notify

import "golang.org/x/sys/unix"

// oldCalls does not exist on this architecture.
func oldCalls() []call { return nil }

const auditArch = unix.AUDIT_ARCH_AARCH64

package spawn

const elfMachine = 183 // EM_AARCH64

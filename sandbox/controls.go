package sandbox

// Controls lists every control in the order of their declaration.
func Controls() []Control {
	return []Control{
		WritesConfined, CredentialsHidden, NoNewPrivileges, NoCapabilities, SyscallFilter, TreeEnds,
		DaemonsEnd, EndsWithCaller, CredentialsLate, MountsLate, NetworkOff, Loopback, UnixSockets, Signals, AbstractSockets, DescriptorsShut,
		MetadataConfined, ProcessesHidden, StatHidden, SharedMemory, HooksProtected, HostNetwork, Terminals, AllCarried, DenialsExplained,
		RulesHeld,
		LimitCPU, LimitMemory, LimitProcesses, LimitFileSize, LimitDisk, LimitTemp, LimitOutput, LimitsExact,
	}
}

package classify

// containers run programs and keep objects elsewhere: on a container engine or
// a cluster. Sources: the reference of docker 27, podman 5, kubectl 1.31, helm 3.
var containers = []program{
	{name: "buildah", subs: []program{{name: "pull push login", sets: []rule{netRepository}}, {name: "rm rmi prune", sets: []rule{deleteObjects}}}},
	{name: "crictl", like: "docker"},
	{name: "ctr", subs: []program{{name: "image images i", subs: []program{{name: "pull push", sets: []rule{netRepository}}, {name: "rm remove delete", sets: []rule{deleteObjects}}}}, {name: "run", does: dockerRun, style: posix, opts: dockerRunning}}},
	{name: "docker", style: posix, opts: "H= host= c= context= l= log-level= config= tlscacert=< tlscert=< tlskey=< v+~", subs: dockerSubs},
	{name: "docker-compose", opts: composing, subs: composeSubs},
	{name: "helm", opts: "n= namespace= kube-context= kubeconfig=<", subs: []program{
		{name: "install upgrade", args: "-", sets: []rule{netService}, opts: "f=< values=< set= set-string= set-file= version= n= namespace= repo= post-renderer=! post-renderer-args= dry-run?"},
		{name: "template lint", args: "-", opts: "f=< values=< set= set-string= set-file= output-dir=w version= n= namespace= repo=n post-renderer=!"},
		{name: "uninstall delete del un", sets: []rule{deleteObjects}, opts: "n= namespace= dry-run+~"},
		{name: "repo", subs: []program{{name: "add update", sets: []rule{netRepository}}, {name: "*", args: "-"}}},
		{name: "pull fetch push search registry", sets: []rule{netRepository}, opts: "d=w destination=w untardir=w version= repo= untar+w"},
		{name: "dependency dep", subs: []program{{name: "update up build", sets: []rule{netRepository}}, {name: "*", args: "-"}}},
		{name: "plugin", subs: []program{{name: "install update", sets: []rule{netRepository}}, {name: "*", args: "-"}}},
		{name: "create", sets: []rule{writeFile}, args: "w"},
		{name: "package", args: "-", opts: "d=o destination=o"},
	}},
	{name: "k9s"},
	{name: "kind", subs: []program{{name: "delete", sets: []rule{deleteObjects}}, {name: "*", args: "-"}}},
	{name: "kubectl", opts: kubeOptions, subs: kubeSubs},
	{name: "kustomize", subs: []program{{name: "build", args: "r", opts: "o=o output=o"}}},
	{name: "lxc", subs: []program{{name: "delete", sets: []rule{deleteObjects}}, {name: "exec", does: containerExec, style: posix, opts: "cwd= env= mode= user= group="}, {name: "file", args: "-"}, {name: "launch", sets: []rule{netRepository}}}},
	{name: "minikube", subs: []program{{name: "delete", sets: []rule{deleteObjects}}, {name: "*", args: "-"}}},
	{name: "nerdctl", like: "docker"},
	{name: "oc", like: "kubectl"},
	{name: "podman", like: "docker"},
	{name: "podman-compose", like: "docker-compose"},
	{name: "skaffold", args: "-"},
	{name: "skopeo", sets: []rule{netRepository}},
	{name: "stern", args: "-"},
	{name: "vagrant", subs: []program{{name: "destroy", sets: []rule{deleteObjects}}, {name: "box", args: "-"}, {name: "ssh", does: vagrantSSH, opts: "c="}, {name: "*", args: "-"}}},
	{name: "virsh", subs: []program{{name: "undefine vol-delete", sets: []rule{deleteObjects}}, {name: "*", args: "-"}}},
}

const dockerRunning = "privileged+s a= attach= add-host= annotation= blkio-weight= cap-add= cap-drop= cgroup-parent= cgroupns= cidfile=w cpu-period= cpu-quota= cpu-shares= c= cpus= cpuset-cpus= cpuset-mems= device= device-cgroup-rule= dns= dns-option= dns-search= domainname= e= env= entrypoint= env-file=< expose= gpus= group-add= health-cmd= health-interval= health-retries= health-timeout= h= hostname= ip= ip6= ipc= isolation= l= label= label-file=< link= log-driver= log-opt= mac-address= m= memory= memory-reservation= memory-swap= mount= name= net= network= network-alias= oom-score-adj= pid= pids-limit= platform= p= publish= pull= restart= runtime= security-opt= shm-size= stop-signal= stop-timeout= storage-opt= sysctl= tmpfs= ulimit= u= user= userns= uts= v= volume= volume-driver= volumes-from= w= workdir= d+ detach+ i+ interactive+ t+ tty+ rm+ init+ read-only+ P+ publish-all+ pod= systemd= authfile=< tz= secret="

const composing = "f=< file=< p= project-name= profile= env-file=< project-directory= ansi= parallel= progress= c= context= dry-run+"

var dockerSubs = []program{
	{name: "run", does: dockerRun, style: posix, opts: dockerRunning},
	{name: "create", does: dockerRun, style: posix, opts: dockerRunning},
	{name: "exec", does: containerExec, style: posix, opts: "privileged+s d+ detach+ detach-keys= e= env= env-file=< i+ interactive+ t+ tty+ u= user= w= workdir="},
	{name: "rm", sets: []rule{deleteObjects}},
	{name: "rmi", sets: []rule{deleteObjects}},
	{name: "pull push login logout search", sets: []rule{netRepository}, opts: "u= p= username= password= platform= authfile=<"},
	{name: "cp", does: dockerCopy, opts: "a+ L+ q+"},
	{name: "build", does: dockerBuild, args: "-", opts: buildOptions},
	{name: "buildx", subs: []program{{name: "build bake", does: dockerBuild, args: "-", opts: buildOptions + " push+n"}, {name: "prune rm", sets: []rule{deleteObjects}}, {name: "*", args: "-"}}},
	{name: "builder image container volume network system context config secret manifest machine pod buildkit plugin", subs: []program{
		{name: "prune rm remove delete reset", sets: []rule{deleteObjects}},
		{name: "run", does: dockerRun, style: posix, opts: dockerRunning},
		{name: "create", args: "-", opts: "privileged+s"},
		{name: "exec", does: containerExec, style: posix, opts: "privileged+s d+ detach+ detach-keys= e= env= env-file=< i+ interactive+ t+ tty+ u= user= w= workdir="},
		{name: "pull push install upgrade", sets: []rule{netRepository}},
		{name: "cp", does: dockerCopy},
		{name: "save export", opts: "o=> output=>"},
		{name: "load import", opts: "i=< input=<"},
		{name: "build", does: dockerBuild, args: "-", opts: buildOptions},
		{name: "*", args: "-"},
	}},
	{name: "compose", opts: composing, subs: composeSubs},
	{name: "stack service swarm node", subs: []program{{name: "rm remove", sets: []rule{deleteObjects}}, {name: "*", args: "-", opts: "c=< compose-file=<"}}},
	{name: "save export", opts: "o=> output=>"},
	{name: "load import", opts: "i=< input=<"},
	{name: "*", args: "-", opts: "f= format= filter= n= tail= since= until= s="},
}

const buildOptions = "f=< file=< t= tag= build-arg= target= o=o output= iidfile=w platform= cache-from= cache-to= label= network= secret= ssh= progress= add-host= build-context= metadata-file=w no-cache+ pull+ load+"

var composeSubs = []program{
	{name: "rm", sets: []rule{deleteObjects}},
	{name: "down", opts: "v+d volumes+d rmi=d remove-orphans+ t= timeout="},
	{name: "pull push", sets: []rule{netRepository}},
	{name: "exec", does: containerExec, style: posix, opts: "privileged+s d+ e= env= index= T+ u= user= w= workdir= i+ t+ it+"},
	{name: "run", does: dockerRun, style: posix, opts: dockerRunning + " service-ports+ no-deps+ T+ build+"},
	{name: "cp", does: dockerCopy},
	{name: "*", args: "-"},
}

const kubeOptions = "n= namespace= context= cluster= kubeconfig=< user= token= s= server= as= as-group= certificate-authority=< client-certificate=< client-key=< request-timeout= v= cache-dir= "

var kubeSubs = []program{
	{name: "delete", does: kubeFiles, sets: []rule{deleteObjects}, opts: kubeOptions + "f=< filename=< k=< kustomize=< l= selector= field-selector= grace-period= timeout= cascade? o= dry-run? force+ now+ all+ wait? A+"},
	{name: "apply create replace patch diff edit set annotate label expose run scale autoscale rollout get describe explain wait", does: kubeFiles, args: "-", opts: kubeOptions + "f=< filename=< k=< kustomize=< l= selector= o= output= p= patch= patch-file=< type= from-file= from-literal= from-env-file=< image= template= sort-by= field-selector= dry-run? R+ A+ w+ for= timeout= replicas= port= target-port= name= env= labels= overrides= restart= command+ raw= revision= to-revision= field-manager= prune+d privileged+s"},
	{name: "exec", does: containerExec, style: posix, opts: kubeOptions + "c= container= f=< filename=< i+ t+ it+ stdin+ tty+ q+ pod-running-timeout="},
	{name: "debug", does: containerExec, style: posix, opts: kubeOptions + "image= target= c= container= it+ profile= copy-to="},
	{name: "cp", does: dockerCopy, opts: kubeOptions + "c= container= no-preserve+ retries="},
	{name: "port-forward proxy attach logs top", args: "-", opts: kubeOptions + "c= container= address= tail= since= l= selector= port= w= f+ p+"},
	{name: "config", subs: []program{{name: "view", does: kubeConfigView, opts: "raw+ flatten+ minify+ o="}, {name: "set-context use-context set set-cluster set-credentials delete-context delete-cluster unset rename-context", args: "-"}, {name: "*", args: "-"}}},
	{name: "drain cordon uncordon taint", args: "-", opts: kubeOptions},
	{name: "*", args: "-", opts: kubeOptions},
}

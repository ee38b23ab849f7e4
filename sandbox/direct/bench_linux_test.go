package direct_test

import (
	"context"
	"os/exec"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/direct"
	"github.com/sbx-run/sbx/sandbox/none"
)

// One command from a long-running process, against plain os/exec; the second
// set with a heap that a fork of the whole process would copy.
func BenchmarkRun(b *testing.B) {
	for _, heap := range []struct {
		name string
		size int
	}{{"small heap", 0}, {"300 MB heap", 300 << 20}} {
		ballast := make([]byte, heap.size)
		for i := 0; i < len(ballast); i += 4096 {
			ballast[i] = 1
		}
		b.Run(heap.name+"/os-exec", func(b *testing.B) {
			for b.Loop() {
				if err := exec.Command("/bin/true").Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(heap.name+"/bwrap", func(b *testing.B) { // the same mounts; no Landlock, no filter
			bwrap, err := exec.LookPath("bwrap")
			if err != nil {
				b.Skip(err)
			}
			workspace := b.TempDir()
			for b.Loop() {
				cmd := exec.Command(bwrap, "--unshare-all", "--new-session", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
					"--tmpfs", "/tmp", "--tmpfs", "/var/tmp", "--tmpfs", "/run", "--bind", workspace, workspace, "--chdir", workspace, "/bin/true")
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
		for _, backend := range []struct {
			name string
			sandbox.Backend
		}{{"none", none.New()}, {"thread", direct.NewThread()}, {"landlock", direct.NewTier("landlock")}, {"full", direct.NewTier("full")}, {"full network on", direct.NewTier("full")}} {
			b.Run(heap.name+"/"+backend.name, func(b *testing.B) {
				p := sandbox.Profile{Workspace: b.TempDir(), Home: b.TempDir()}
				if backend.name == "full network on" {
					p.Network = sandbox.NetworkHost
				}
				s, err := backend.Open(context.Background(), p)
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				for b.Loop() {
					if _, err := s.Run(context.Background(), sandbox.Command{Argv: []string{"/bin/true"}}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		if len(ballast) > 0 && ballast[0] == 0 {
			b.Fatal("the ballast is gone")
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	home, workspace := b.TempDir(), b.TempDir()
	for b.Loop() {
		s, err := direct.New().Open(context.Background(), sandbox.Profile{Workspace: workspace, Home: home})
		if err != nil {
			b.Fatal(err)
		}
		_ = s.Close()
	}
}

func BenchmarkProbe(b *testing.B) {
	for b.Loop() {
		if _, err := direct.New().Probe(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

package container_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/containerd"
	"github.com/sbx-run/sbx/sandbox/docker"
)

// refused runs a command that must not start, and returns the sentence.
func (r *room) refused() string {
	r.Helper()
	return r.refusal(r.attempt())
}

// refusedWhenFull fills the engine's disk until a command is refused: an engine deletes
// the files of what has ended when it finds time to, and then there is room again.
func (r *room) refusedWhenFull(fill func()) string {
	r.Helper()
	var result *sandbox.Result
	var err error
	await(func() bool {
		fill()
		result, err = r.attempt()
		return err != nil
	})
	return r.refusal(result, err)
}

// attempt runs a command that may not start. There is no result when it was refused
// before.
func (r *room) attempt() (*sandbox.Result, error) {
	s, err := r.backend().Open(r.Context(), r.profile)
	if err != nil {
		return nil, err
	}
	result, err := s.Run(r.Context(), sandbox.Command{Argv: []string{"/bin/true"}, Env: r.env(), Timeout: longest})
	check(r, s.Close())
	return &result, err
}

// refusal is the one sentence of an attempt that was refused.
func (r *room) refusal(result *sandbox.Result, err error) string {
	r.Helper()
	if result != nil && (result.Ending != sandbox.NotStarted || result.ExitCode != 125) {
		r.Errorf("%+v", result)
	}
	if !errors.Is(err, sandbox.ErrStart) && !errors.Is(err, sandbox.ErrUnavailable) {
		r.Fatalf("not refused: %v", err)
	}
	if text := err.Error(); strings.Contains(text, "\n") || !strings.HasPrefix(text, r.engine+": ") {
		r.Errorf("no sentence: %q", text)
	}
	return err.Error()
}

// What an engine cannot do is one sentence, and leaves nothing.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(*room)
		want string
	}{
		{"image", func(r *room) { r.profile.Container.Image = "sbx-test/absent:1" }, "absent:1 is not here"},
		{"image's name", func(r *room) { r.profile.Container.Image = "A B" }, "is not the name of an image"},
		{"memory", func(r *room) { r.profile.Limits.MemoryBytes = 1 << 20 }, "at least 6 MiB"},
		{"processors", func(r *room) { r.profile.Container.CPUs = -1 }, "must be positive"},
		{"runtime", func(r *room) { r.profile.Container.Runtime = "sbx-no-such-runtime" }, "sbx-no-such-runtime"},
		{"address", func(r *room) { r.profile.Container.Host = "tcp://192.0.2.1:2375" }, "tcp://192.0.2.1:2375"},
		{"no engine", func(r *room) { r.profile.Container.Host = "unix://" + r.dir + "/socket" }, "does not exist"},
		{"option", func(r *room) { r.profile.Container.Options = "--privileged" }, "refused"},
		{"credential helper", func(r *room) {
			check(r, os.WriteFile(r.dir+"/config.json", []byte(`{"credsStore": "sbxtest"}`), 0o644))
			r.Setenv("DOCKER_CONFIG", r.dir)
			r.profile.Container.NoPull, r.profile.Container.Image = false, "127.0.0.1:1/private:1"
		}, "docker-credential-sbxtest"},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachEngine(t, func(r *room) {
				c.set(r)
				if text := r.refused(); !strings.Contains(text, c.want) {
					r.Errorf("%q does not say %q", text, c.want)
				}
				r.leavesNothing()
			})
		})
	}
}

// An OCI runtime by the name that the engine has for it.
func TestRuntimeByName(t *testing.T) {
	eachEngine(t, func(r *room) {
		r.profile.Container.Runtime = "runc"
		if out, result := r.run(r.open(), "echo", "runc"); out != "runc\n" || result.ExitCode != 0 {
			r.Errorf("%q, %+v", out, result)
		}
		if r.engine == docker.Docker {
			return // its daemon would have to be told of others
		}
		if _, err := exec.LookPath("crun"); err != nil {
			r.Skip("there is no crun")
		}
		r.profile.Container.Runtime = "crun"
		var out bytes.Buffer
		_, err := r.open().Run(r.Context(), sandbox.Command{Argv: []string{"echo", "crun"}, Env: r.env(), Stdout: &out, Timeout: longest})
		switch {
		case err != nil && strings.Contains(err.Error(), "cgroups in hybrid mode"): // crun's own words about this machine
			r.Logf("crun was asked, and says: %v", err)
		case err != nil || out.String() != "crun\n":
			r.Errorf("%q, %v", out.String(), err)
		}
		r.leavesNothing()
	})
}

// An image whose programs are for other machines.
func TestOtherArchitecture(t *testing.T) {
	eachEngine(t, func(r *room) {
		other, machine := "arm64", elf.EM_AARCH64
		if runtime.GOARCH == other {
			other, machine = "amd64", elf.EM_X86_64
		}
		image := "sbx-test/" + other + ":" + r.hash()
		file := filepath.Join(r.dir, "other.tar")
		check(r, os.WriteFile(file, saved(r, image, other, foreignRoot(r, machine)), 0o644))
		if r.engine == containerd.Name {
			r.lines("images", "import", "--all-platforms", "--no-unpack", file)
			r.Cleanup(func() { r.removeImage("docker.io/" + image) })
		} else {
			r.lines("load", "-q", "-i", file)
			r.Cleanup(func() { r.removeImage(image) })
		}
		r.profile.Container.Image = image
		if text := r.refused(); !strings.Contains(text, "is for "+other+", this machine is "+runtime.GOARCH) {
			r.Errorf("%q", text)
		}
		r.leavesNothing()
	})
}

// foreignRoot is a root with a program that is the head of one for a machine.
func foreignRoot(t testing.TB, machine elf.Machine) []byte {
	t.Helper()
	var program, root bytes.Buffer
	head := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1, Ehsize: 64, Phentsize: 56}
	copy(head.Ident[:], elf.ELFMAG+string([]byte{byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1}))
	check(t, binary.Write(&program, binary.LittleEndian, head))
	w := tar.NewWriter(&root)
	for _, dir := range []string{"bin/", "dev/", "proc/", "sys/", "tmp/", "var/", "var/tmp/", "etc/"} {
		check(t, w.WriteHeader(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o755}))
	}
	addFile(t, w, "bin/true", program.Bytes())
	check(t, w.Close())
	return root.Bytes()
}

func addFile(t testing.TB, w *tar.Writer, name string, data []byte) {
	t.Helper()
	check(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(data))}))
	_, err := w.Write(data)
	check(t, err)
}

// saved is an image as `docker save` writes it, which all engines load.
func saved(t testing.TB, name, architecture string, root []byte) []byte {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	addFile(t, w, "layer.tar", root)
	addFile(t, w, "config.json", fmt.Appendf(nil, `{"architecture": %q, "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": ["sha256:%x"]}}`,
		architecture, sha256.Sum256(root)))
	addFile(t, w, "manifest.json", fmt.Appendf(nil, `[{"Config": "config.json", "RepoTags": [%q], "Layers": ["layer.tar"]}]`, name))
	check(t, w.Close())
	return archive.Bytes()
}

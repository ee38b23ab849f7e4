//go:build amd64 || arm64

package probes

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// victimProcess is a process of the same user that has nothing to do with the
// sandbox.
type victimProcess struct {
	argv    []string
	env     []string
	pid     int
	process *os.Process
	in      *os.File
	out     *bufio.Reader
	pipe    *os.File
	address uint64
	fresh   string
}

func startVictim(helper []string, r *room) (*victimProcess, error) {
	v := &victimProcess{argv: append(slices.Clone(helper), modeVictim, r.secret), env: []string{secretVar + "=" + r.secret}}
	return v, v.start()
}

func (v *victimProcess) start() error {
	childIn, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer childIn.Close()
	out, childOut, err := os.Pipe()
	if err != nil {
		return errors.Join(err, in.Close())
	}
	defer childOut.Close()
	v.in, v.pipe, v.out = in, out, bufio.NewReader(out)
	v.process, err = os.StartProcess(v.argv[0], v.argv, &os.ProcAttr{
		Env: v.env, Files: []*os.File{childIn, childOut, nil}, Sys: &unix.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL},
	})
	if err != nil {
		return fmt.Errorf("start victim: %w", err)
	}
	v.pid = v.process.Pid
	_ = out.SetReadDeadline(time.Now().Add(10 * time.Second))
	line, err := v.out.ReadString('\n')
	if err != nil {
		return fmt.Errorf("start victim: %w", err)
	}
	if v.address, err = strconv.ParseUint(strings.TrimSpace(line), 10, 64); err != nil {
		return fmt.Errorf("start victim: %w", err)
	}
	v.fresh = v.state()
	return nil
}

// state asks the victim. A dead or stopped one does not answer.
func (v *victimProcess) state() string {
	_ = v.pipe.SetReadDeadline(time.Now().Add(2 * time.Second))
	if _, err := v.in.WriteString("\n"); err != nil {
		return "dead"
	}
	line, err := v.out.ReadString('\n')
	if err != nil {
		return "does not answer"
	}
	return line
}

// renew makes sure that the victim is as new.
func (v *victimProcess) renew() error {
	if v.state() == v.fresh {
		return nil
	}
	v.end()
	return v.start()
}

func (v *victimProcess) end() {
	if v.process != nil {
		_ = v.process.Kill()
		_, _ = v.process.Wait()
	}
	_ = v.in.Close()
	_ = v.pipe.Close()
}

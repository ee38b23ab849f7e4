//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// programs compares the backends that confine by a program with that program
// under the same options. What sbx adds is its own start, and looking at what the
// program made.
func programs(w io.Writer, o options) error {
	const (
		start  = "sbx exec --backend none -- /bin/true"
		atMost = 1.15
	)
	ws := o.workspace()
	candidates := []candidate{o.candidate(start, o.sbx, "exec", "--backend", "none", "--workspace", ws, "--", "/bin/true")}
	var missing []string
	var pairs [][2]string
	for _, name := range []string{"bwrap", "firejail"} {
		options, err := o.told(name)
		if err != nil {
			missing = append(missing, fmt.Sprintf("  %s: not measured here: %v\n", name, err))
			continue
		}
		bare := name + ", the same options"
		c, err := o.other(bare, append([]string{name}, options...))
		if err != nil {
			missing = append(missing, fmt.Sprintf("  %s: not measured here: %v\n", bare, err))
			continue
		}
		confined := "sbx exec --backend " + name + " -- /bin/true"
		candidates = append(candidates, c, o.candidate(confined, o.sbx, "exec", "--backend", name, "--workspace", ws, "--", "/bin/true"))
		pairs = append(pairs, [2]string{confined, bare})
	}
	all, err := interleave(o.rounds, candidates)
	if err != nil {
		return err
	}
	if err := report(w, "Backends that are programs", o.rounds, all, nil); err != nil {
		return err
	}
	for _, p := range pairs {
		ratio := float64(find(all, p[0]).median()) / float64(find(all, p[1]).median()+find(all, start).median())
		fmt.Fprintf(w, "  %s: %.2f of (%s + %s) (target at most %.2f: %s)\n", p[0], ratio, p[1], start, atMost, verdict(ratio <= atMost))
	}
	fmt.Fprint(w, strings.Join(missing, ""))
	return nil
}

// told is what a backend tells its program, by its plan, without the descriptors
// that only sbx has.
func (o options) told(backend string) ([]string, error) {
	var out, said bytes.Buffer
	cmd := exec.Command(o.sbx, "exec", "--dry-run", "--backend", backend, "--workspace", o.workspace(), "--", "/bin/true")
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = o.env(), o.workspace(), &out, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	var plan struct {
		Steps []string `json:"steps"`
	}
	if err := json.Unmarshal(out.Bytes(), &plan); err != nil {
		return nil, err
	}
	var words []string
	for _, step := range plan.Steps {
		if strings.HasSuffix(step, " FD") {
			continue
		}
		words = append(words, strings.Fields(step)...)
	}
	return words, nil
}

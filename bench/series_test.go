//go:build linux

package main

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func fake(name string, took time.Duration, ran *[]string) candidate {
	return candidate{name: name, run: func() (time.Duration, error) {
		*ran = append(*ran, name)
		return took, nil
	}}
}

func TestInterleaveRunsEachOnceARound(t *testing.T) {
	var ran []string
	all, err := interleave(4, []candidate{fake("a", 2, &ran), fake("b", 3, &ran)})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(ran), 2*(warmUp+4); got != want {
		t.Fatalf("ran %d times, want %d", got, want)
	}
	for i := 0; i < len(ran); i += 2 {
		if ran[i] == ran[i+1] {
			t.Fatalf("round %d ran %s twice", i/2, ran[i])
		}
	}
	if len(all[0].times) != 4 || all[1].median() != 3 {
		t.Fatalf("got %+v", all)
	}
}

func TestInterleaveStopsAtAFailure(t *testing.T) {
	var ran []string
	broken := candidate{name: "broken", run: func() (time.Duration, error) { return 0, errors.New("exit status 125") }}
	if _, err := interleave(4, []candidate{fake("a", 2, &ran), broken}); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Fatalf("got error %v, want one that names the candidate", err)
	}
}

// A tool that sbx is compared with may fail now and then, not always.
func TestInterleaveCountsWhatOthersFail(t *testing.T) {
	runs := 0
	other := candidate{name: "other", foreign: true, run: func() (time.Duration, error) {
		if runs++; runs == 6 {
			return 0, errors.New("exit status 1")
		}
		return 5, nil
	}}
	all, err := interleave(8, []candidate{other})
	if err != nil || all[0].failed != 1 || len(all[0].times) != 7 {
		t.Errorf("got %+v, %v", all, err)
	}
	other.run = func() (time.Duration, error) { return 0, errors.New("exit status 1") }
	if _, err := interleave(8, []candidate{other}); err == nil {
		t.Error("a tool that always fails was measured")
	}
}

func TestQuantiles(t *testing.T) {
	s := series{times: []time.Duration{1, 2, 3, 4, 100}}
	for share, want := range map[float64]time.Duration{0: 1, 0.5: 3, 1: 100} {
		if got := s.at(share); got != want {
			t.Errorf("at(%v) = %d, want %d", share, got, want)
		}
	}
}

func TestBoundSaysWhetherItIsMet(t *testing.T) {
	all := []series{{name: "base", times: []time.Duration{10}}, {name: "new", times: []time.Duration{12}}}
	for _, c := range []struct {
		b    bound
		want string
	}{
		{bound{of: "new", by: "base", atMost: 1.3}, "= 1.20 (target at most 1.30: met)"},
		{bound{of: "new", by: "base", atMost: 1.1}, "= 1.20 (target at most 1.10: NOT met)"},
		{bound{of: "new", by: "absent", atMost: 1.1}, "not measured here"},
		{bound{of: "new", by: "base"}, "new / base = 1.20\n"},
	} {
		var out strings.Builder
		c.b.print(&out, all)
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("got %q, want %q in it", out.String(), c.want)
		}
	}
}

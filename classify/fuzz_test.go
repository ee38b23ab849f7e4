package classify_test

import (
	"reflect"
	"testing"

	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/shell"
)

// FuzzClassify holds that no text makes Classify panic, that the result does
// not depend on anything but the text, and what every result promises.
func FuzzClassify(f *testing.F) {
	for _, r := range readCorpus(&testing.T{}, "bypass.jsonl") {
		f.Add(r.Cmd)
	}
	for _, r := range readCorpus(&testing.T{}, "public.jsonl") {
		f.Add(r.Cmd)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := shell.ParseAt(text, shell.Bash, here)
		tags, found := classify.Classify(s)
		checkFindings(t, text, tags, found)
		again, foundAgain := classify.Classify(s)
		if again != tags || !reflect.DeepEqual(found, foundAgain) {
			t.Errorf("%q: two readings differ", text)
		}
		if (s.Err != nil || len(s.Unknown) > 0) && tags&classify.UnknownTag == 0 {
			t.Errorf("%q: not read, and not unknown", text)
		}
		classify.Classify(shell.FromArgv([]string{text, text}, here))
		classify.Classify(shell.FromArgv([]string{"sh", "-c", text}, here))
	})
}

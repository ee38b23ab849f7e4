package classify

import "testing"

func TestLabels(t *testing.T) {
	if len(labels) != len(names) {
		t.Fatalf("%d labels for %d tags", len(labels), len(names))
	}
	for _, tag := range All() {
		seen := map[string]bool{}
		for _, l := range []Language{English, Portuguese, BrazilianPortuguese, Spanish} {
			if tag.Label(l) == "" {
				t.Errorf("%v has no label in language %d", tag, l)
			}
			seen[tag.Label(l)] = true
		}
		if len(seen) < 3 {
			t.Errorf("%v: the labels are not translated: %v", tag, seen)
		}
	}
	if got := Deletes.Label(BrazilianPortuguese); got != "apaga arquivos" {
		t.Error(got)
	}
	if (Deletes | Network).Label(English) != "" {
		t.Error("a set of tags has one label")
	}
}

func TestLanguageOf(t *testing.T) {
	for locale, want := range map[string]Language{
		"": English, "C": English, "C.UTF-8": English, "en_US.UTF-8": English, "de_DE": English, "pt": Portuguese, "pt_PT.UTF-8": Portuguese,
		"pt_BR.UTF-8": BrazilianPortuguese, "pt-BR": BrazilianPortuguese, "PT_br": BrazilianPortuguese, "es": Spanish, "es_MX.UTF-8@x": Spanish, "est_EE": English,
	} {
		if got := LanguageOf(locale); got != want {
			t.Errorf("%q: %d, want %d", locale, got, want)
		}
	}
}

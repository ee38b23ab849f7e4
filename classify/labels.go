package classify

import "strings"

// Language is one that labels are written in. The wire names never change.
type Language uint8

// The languages.
const (
	English Language = iota
	Portuguese
	BrazilianPortuguese
	Spanish
)

// LanguageOf reads a locale name as LANG holds it: pt_BR.UTF-8, es, C.
func LanguageOf(locale string) Language {
	locale, _, _ = strings.Cut(locale, ".")
	locale, _, _ = strings.Cut(locale, "@")
	locale = strings.ToLower(strings.ReplaceAll(locale, "-", "_"))
	lang, region, _ := strings.Cut(locale, "_")
	switch {
	case lang == "pt" && region == "br":
		return BrazilianPortuguese
	case lang == "pt":
		return Portuguese
	case lang == "es":
		return Spanish
	}
	return English
}

// labels says each tag to a person, in the order of the tags.
var labels = [...][4]string{
	{"goes on in the background", "continua em segundo plano", "continua em segundo plano", "sigue en segundo plano"},
	{"changes configuration that runs later", "altera configuração que corre mais tarde", "altera configuração que roda depois", "cambia configuración que se ejecuta después"},
	{"deletes files", "apaga ficheiros", "apaga arquivos", "borra archivos"},
	{"downloads and runs code", "descarrega e executa código", "baixa e executa código", "descarga y ejecuta código"},
	{"runs with elevated privileges", "corre com privilégios elevados", "roda com privilégios elevados", "se ejecuta con privilegios elevados"},
	{"runs embedded code", "executa código embutido", "executa código embutido", "ejecuta código incrustado"},
	{"accesses the network", "acede à rede", "acessa a rede", "accede a la red"},
	{"reads a file outside its workspace", "lê um ficheiro fora do seu espaço de trabalho", "lê um arquivo fora do seu espaço de trabalho", "lee un archivo fuera de su espacio de trabajo"},
	{"reads credentials", "lê credenciais", "lê credenciais", "lee credenciales"},
	{"could not be read for certain", "não pôde ser lido com certeza", "não pôde ser lido com certeza", "no se pudo leer con certeza"},
	{"writes to a file", "escreve num ficheiro", "grava em um arquivo", "escribe en un archivo"},
	{"writes outside its workspace", "escreve fora do seu espaço de trabalho", "grava fora do seu espaço de trabalho", "escribe fuera de su espacio de trabajo"},
}

// Label says one tag to a person.
func (t Tags) Label(l Language) string {
	for i := range labels {
		if t == 1<<i {
			return labels[i][l]
		}
	}
	return ""
}

package config

import "strconv"

// Setting is one text in the file.
type Setting struct {
	Path  string // e.g. "mcp.github.env.TOKEN", "mcp.github.args[1]"
	Key   string // the last name of Path; of an element of a list the list's
	After string // of an element of a list: the text before it, e.g. "--token"
	Value string
}

// Settings lists every text of a configuration, Pepe's settings included, in the
// order of the file; path is for messages only. It is pure.
func Settings(path string, data []byte) ([]Setting, error) {
	_, root, _, err := parseObject(path, data)
	if err != nil {
		return nil, err
	}
	var list []Setting
	var walk func(path, key, after string, value any)
	walk = func(path, key, after string, value any) {
		switch v := value.(type) {
		case string:
			list = append(list, Setting{path, key, after, v})
		case object:
			for _, m := range v {
				at := m.key
				if path != "" {
					at = path + "." + m.key
				}
				walk(at, m.key, "", m.value)
			}
		case []any:
			before := ""
			for i, e := range v {
				walk(path+"["+strconv.Itoa(i)+"]", key, before, e)
				before, _ = e.(string)
			}
		}
	}
	walk("", "", "", root)
	return list, nil
}

// ReadSettings is Settings of a file, as Read reads it. No file has none.
func ReadSettings(path string) ([]Setting, error) {
	data, err := readRegular(path)
	if err != nil {
		return nil, &Error{Path: path, Err: err}
	}
	return Settings(path, data)
}

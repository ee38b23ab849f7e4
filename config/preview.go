package config

import "errors"

var previewKeys = []string{"size", "keep"}

// preview reads sbx.preview.
func (d *decoder) preview(c *Config, value any) {
	o, ok := d.object("sbx.preview", value)
	if !ok {
		return
	}
	d.known("sbx.preview.", o, previewKeys, func(key string, value any) {
		full := "sbx.preview." + key
		switch key {
		case "size":
			if word := d.word(full, value); word != "" {
				var err error
				if c.PreviewSize, err = PreviewSize(word); err != nil {
					d.fail(full, `want a size like "500m", at least 1m, have %s`, describe(value))
				}
			}
		case "keep":
			if t := d.duration(full, value); t != nil {
				if c.PreviewKeep = *t; *t == 0 {
					d.fail(full, `want a duration like "168h", have %s`, describe(value))
				}
			}
		}
	})
}

// smallestPreview is less than any command writes that is worth a preview: it is a
// slip of the unit.
const smallestPreview = 1 << 20

var errPreview = errors.New("want a size like 500m or 2g, at least 1m")

// PreviewSize is Size for what a previewed command may write.
func PreviewSize(text string) (int64, error) {
	n, err := Size(text)
	if err != nil || n < smallestPreview {
		return 0, errPreview
	}
	return n, nil
}

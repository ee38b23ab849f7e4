//go:build !linux

package protect

import (
	"errors"
	"io"
	"os"
)

func contents(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.New("no regular file")
	}
	if info.Size() > limit {
		return nil, errTooLarge
	}
	return io.ReadAll(io.LimitReader(file, info.Size()))
}

func entries(dir string, limit int) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(limit)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}
